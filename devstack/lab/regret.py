# SPDX-License-Identifier: Apache-2.0
"""How much worse than the best the claimed hosts were, judged in the very state that each claim was made in.

One worker alone, always up to date, would give each request the host with the highest score of that moment. The log
holds every claim in order, so that those moments can be gone through again:

    regret = 1 - (sum of the chosen hosts' scores) / (sum of the best scores)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from devstack.lab import driver
from scheduler_svc.filters import pipeline
from scheduler_svc.request import Request
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Amounts, Entry, Snapshot
from scheduler_svc.table.table import HostTable
from scheduler_svc.weighers import scoring


@dataclass(frozen=True, slots=True)
class Choice:
    """One claim: the score of the host that got it, and the best score there was."""

    chosen: float
    best: float


def entries(store: Store, position: int) -> Iterator[Entry]:
    """Yield what the log has after ``position``; raises LookupError where it does not reach back so far."""
    while True:
        found = store.follow(position, 0)
        if found is None:
            raise LookupError(f"The log of {store.partition} does not reach back to position {position}")
        if not found:
            return
        yield from found
        position = found[-1].position


def choices(before: Snapshot, log: Iterable[Entry], every: int) -> Iterator[Choice]:
    """Yield one of ``every`` so many claims in the log of a partition in which nothing else happened."""
    table = HostTable.from_snapshot(before, reads=driver.default().reads)
    filters, weighted = driver.filters(), driver.weighted()
    used = {name: dict(amounts) for name, amounts in before.used.items()}
    for number, entry in enumerate(log):
        if entry.kind != "used" or len(entry.payload) != 1:
            raise LookupError(f"The log holds an entry of kind {entry.kind} that is no single claim: {entry}")
        ((name, sums),) = entry.payload.items()
        if number % every == 0:
            yield judge(table, filters, weighted, name, _more(used.get(name, {}), sums))
        used[name] = sums
        table.apply(entry)


def regret(made: Iterable[Choice]) -> float:
    """Return the share of the score that was missed; 0 where there was none to be had."""
    chosen, best = 0.0, 0.0
    for choice in made:
        chosen, best = chosen + choice.chosen, best + choice.best
    return 1 - chosen / best if best else 0.0


def _more(before: Amounts, after: Amounts) -> Mapping[str, int]:
    amounts = {each: amount - before.get(each, 0) for each, amount in after.items()}
    return {each: amount for each, amount in amounts.items() if amount}


def judge(
    table: HostTable,
    filters: driver.Filters,
    weighted: scoring.Weighted,
    name: str,
    amounts: Mapping[str, int],
) -> Choice:
    """Judge a claim of ``amounts`` on host ``name`` in the state before it; raises LookupError where it had no room."""
    asked = Request("regret", amounts)
    with table.reading() as view:
        rows = np.flatnonzero(pipeline.run(filters, view, asked).passes)
        values = scoring.score(weighted, view, asked, rows).values
        where = np.flatnonzero(rows == table.rows[name])
        if not len(where):
            raise LookupError(f"A claim of {dict(amounts)} was made on {name}, which had no room for it")
        return Choice(float(values[where[0]]), float(values.max()))
