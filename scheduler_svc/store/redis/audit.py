# SPDX-License-Identifier: Apache-2.0
"""An audit as several bounded scripts: the reported claims in lots, then all others, and the host opens."""

from collections.abc import Iterator, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model.claims import Answer, ClaimState
from scheduler_svc.store import documents
from scheduler_svc.store.records import SCHEMA, AuditOutcome, Ended, Running
from scheduler_svc.store.redis.connect import Connection

LOT = 100  # reported claims that one script settles


def audit(connection: Connection, host: str, epoch: int, running: Sequence[Running], grace_ms: int) -> AuditOutcome:
    """Settle with what runs on ``host``.

    What happens between two lots does no harm: until the last script no host is open that was not, and on an open
    one a claim confirmed meanwhile is at worst an orphan whose grace begins. Raises UnknownHost.
    """
    answers: list[Ended] = []
    reasserted = 0
    for start in range(0, len(running), LOT):
        lot = running[start : start + LOT]
        found = connection.run("audit_settle", epoch, *_settle_arguments(host, lot))
        if len(found) == 1:
            return _nothing_done(host, found[0])
        answers += [Ended(one.consumer, one.attempt, Answer(said)) for one, said in zip(lot, found[1::2], strict=True)]
        reasserted += sum(found[2::2])
    refs = [value for one in running for value in (one.consumer, one.attempt)]
    found = connection.run("audit_open", epoch, host, grace_ms, *refs)
    if len(found) == 1:
        return _nothing_done(host, found[0])
    _epoch, released, orphans, again_ms = found
    return AuditOutcome(epoch, answers, reasserted, released, orphans, again_ms)


def _nothing_done(host: str, epoch: int) -> AuditOutcome:
    """Return the answer in another epoch; raises UnknownHost where the script said that nobody knows the host."""
    if epoch == 0:
        raise errors.UnknownHost(name=host)
    return AuditOutcome(epoch, (), 0, 0, 0, 0)


def _settle_arguments(host: str, lot: Sequence[Running]) -> Iterator[Any]:
    for one in lot:
        yield from (one.consumer, one.attempt, int(one.confirmed), host, _lost_claim(one))


def _lost_claim(one: Running) -> str:
    return documents.encode(
        {
            "schema": SCHEMA,
            "consumer": one.consumer,
            "attempt": one.attempt,
            "generation": 1,
            "type": one.type,
            "project": one.project,
            "user": one.user,
            "state": ClaimState.CONFIRMED,
            "host": one.host,
            "allocations": one.allocations,
            "request_id": one.request_id,
            "alternates": "",
            "group": None if one.group is None else documents.encode_group(one.group),
        }
    )
