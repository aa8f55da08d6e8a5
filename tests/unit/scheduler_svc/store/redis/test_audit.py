# SPDX-License-Identifier: Apache-2.0
"""The audit as several bounded scripts: batches, their answers, and claims that ended between two of them."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.audit import SETTLE_BATCH

EPOCH = 7


class ScriptedConnection:
    """Answers the audit's scripts; every reported claim is confirmed, and re-asserted if its number is even."""

    def __init__(self, epoch: int = EPOCH, ends: Callable[[str], str] = lambda consumer: "") -> None:
        self.epoch = epoch
        self.ends = ends
        self.settled: list[list[str]] = []
        self.opened: list[dict[str, Any]] = []
        self.positions: list[tuple[int, int]] = []  # that the caller observed

    @property
    def identity(self) -> "ScriptedConnection":
        return self

    def observe(self, epoch: int, position: int) -> None:
        self.positions.append((epoch, position))

    def run(self, script: str, rows: Iterable[Any], **arguments: Any) -> list[Any]:
        values = list(rows)
        if self.epoch != EPOCH:
            return [self.epoch]
        if script == "audit_settle":
            consumers = values[0::4]
            self.settled.append(consumers)
            return [EPOCH, *(value for name in consumers for value in ("confirmed", int(name[1:]) % 2 == 0))]
        assert script == "audit_open"
        self.opened.append({"refs": values, **arguments})
        return [EPOCH, 88, 4, 5, 600, *(self.ends(consumer) for consumer in values[0::2])]


def running(count: int) -> list[RunningClaim]:
    return [
        RunningClaim(f"c{number}", 1, True, "h1", {"h1": {"VCPU": 1}}, "INSTANCE", "p", "u", "r")
        for number in range(count)
    ]


def run(connection: ScriptedConnection, count: int) -> Any:
    store = RedisStore("redis://127.0.0.1:1/0", "p1")
    store._connection = connection  # type: ignore[assignment]
    return store.audit("h1", EPOCH, running(count), grace_ms=9)


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, []), (1, [1]), (SETTLE_BATCH, [SETTLE_BATCH]), (2 * SETTLE_BATCH + 1, [SETTLE_BATCH, SETTLE_BATCH, 1])],
)
def test_claims_are_settled_in_bounded_batches_before_the_host_is_opened(count: int, sizes: list[int]) -> None:
    connection = ScriptedConnection()
    outcome = run(connection, count)
    assert [len(batch) for batch in connection.settled] == sizes
    (opened,) = connection.opened
    assert opened["refs"] == [value for number in range(count) for value in (f"c{number}", 1)]
    assert (opened["host"], opened["epoch"], opened["grace_ms"]) == ("h1", EPOCH, 9)
    assert [result.consumer for result in outcome.answers] == [f"c{number}" for number in range(count)]
    assert outcome.reasserted == (count + 1) // 2
    assert (outcome.epoch, outcome.released, outcome.orphans, outcome.again_ms) == (EPOCH, 4, 5, 600)
    assert (connection.positions, outcome.position) == ([(EPOCH, 88)], 88)


def test_claim_that_ended_before_the_host_was_opened_is_answered_with_its_end() -> None:
    outcome = run(ScriptedConnection(ends=lambda consumer: "fenced" if consumer == "c1" else ""), 3)
    assert [result.answer for result in outcome.answers] == [Answer.CONFIRMED, Answer.FENCED, Answer.CONFIRMED]


def test_audit_of_another_epoch_changes_nothing() -> None:
    connection = ScriptedConnection(epoch=EPOCH + 1)
    outcome = run(connection, 3)
    assert (outcome.epoch, list(outcome.answers), outcome.reasserted) == (EPOCH + 1, [], 0)
    assert connection.opened == []
    assert run(connection, 0).epoch == EPOCH + 1


@pytest.mark.parametrize("count", [0, 3])
def test_unknown_host_is_refused(count: int) -> None:
    with pytest.raises(errors.UnknownHost, match="h1"):
        run(ScriptedConnection(epoch=0), count)
