# SPDX-License-Identifier: Apache-2.0
"""Regret of claims: 1 - (sum of the claimed hosts' scores) / (sum of the best scores).

The best score is that before the claim; replaying the log of all claims in order reproduces these states.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from devstack.lab import default_driver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import CLAIM_COUNTS, Amounts, LogEntry, Snapshot
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers import scoring
from scheduler_svc.store.protocols.log import LogStore


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """Scores of the claimed host and of the best host, before the claim."""

    score: float
    best_score: float


def entries(store: LogStore, position: int) -> Iterator[LogEntry]:
    """Yield the log's entries after ``position``. Raises LookupError if the log was trimmed."""
    while True:
        batch = store.follow(position, 0)
        if batch is None:
            raise LookupError(f"The log of {store.partition} does not reach back to position {position}")
        if not batch:
            return
        yield from batch
        position = batch[-1].position


def judged_claims(before: Snapshot, log: Iterable[LogEntry], every: int) -> Iterator[JudgedClaim]:
    """Judge one in ``every`` claims."""
    table = HostTable.from_snapshot(before, reads=default_driver.default().reads)
    filters, weighted = default_driver.filters(), default_driver.weighted()
    used = {name: dict(amounts) for name, amounts in before.used.items()}
    for number, entry in enumerate(log):
        if entry.kind != "used" or len(entry.payload) != 1:
            raise LookupError(f"The log holds an entry of kind {entry.kind} that is no single claim: {entry}")
        ((name, sums),) = entry.payload.items()
        if number % every == 0:
            yield judge(table, filters, weighted, name, _increase(used.get(name, {}), sums))
        used[name] = sums
        table.apply(entry)


def regret(claims: Iterable[JudgedClaim]) -> float:
    claimed_score, best_score = 0.0, 0.0
    for claim in claims:
        claimed_score, best_score = claimed_score + claim.score, best_score + claim.best_score
    return 1 - claimed_score / best_score if best_score else 0.0


def _increase(before: Amounts, after: Amounts) -> Mapping[str, int]:
    amounts = {resource_class: amount - before.get(resource_class, 0) for resource_class, amount in after.items()}
    return {name: amount for name, amount in amounts.items() if amount and name not in CLAIM_COUNTS}


def judge(
    table: HostTable,
    filters: default_driver.Filters,
    weighted: scoring.WeigherSet,
    name: str,
    amounts: Mapping[str, int],
) -> JudgedClaim:
    """Judge a claim in the state before it. Raises LookupError if it did not fit."""
    request = SchedulingRequest("regret", amounts)
    with table.reading() as view:
        rows = np.flatnonzero(pipeline.run(filters, view, request).passes)
        values = scoring.score(weighted, view, request, rows).values
        index = np.flatnonzero(rows == table.partitions[0].rows[name])
        if not len(index):
            raise LookupError(f"A claim of {dict(amounts)} was made on {name}, which did not have enough free capacity")
        return JudgedClaim(float(values[index[0]]), float(values.max()))
