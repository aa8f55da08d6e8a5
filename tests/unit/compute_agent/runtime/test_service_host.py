# SPDX-License-Identifier: Apache-2.0
"""Saga passes of a service host: one for many messages, one timer, and backoff during outages."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rpcapi import errors, objects
from tests.support.agent.rig import AgentRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def test_queued_messages_share_one_saga_pass(rig: AgentRig) -> None:
    for uuid in ("a", "b", "c"):
        rig.build(rig.intent(uuid, VCPU=1))
    rig.queue.run()
    assert [verb for verb, _ in rig.ledger.calls] == ["confirm_claims"]
    assert rig.ledger.calls[0][1] == [("a", 1), ("b", 1), ("c", 1)]


def test_backoff_grows_while_calls_are_unanswered_and_resets(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"] * 8
    rig.build(rig.intent("a"))
    rig.queue.run()
    waits = []
    while rig.ledger.lose or not rig.guests():
        start = rig.clock.now
        assert rig.queue.waiting() == 1
        rig.queue.fire()
        waits.append(rig.clock.now - start)
    assert all(250 <= wait <= 500 for wait in waits[:1])
    assert all(7500 <= wait <= 15_000 for wait in waits[-2:])

    rig.queue.settle()
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("b"))
    rig.queue.run()
    start = rig.clock.now
    rig.queue.fire()
    assert rig.clock.now - start <= 500


def test_messages_during_an_outage_use_one_timer(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"] * 20
    for number in range(10):
        rig.build(rig.intent(f"i{number}", VCPU=1, node=number % 2))
        rig.queue.run()
    assert rig.queue.waiting() == 1
    rig.ledger.lose.clear()
    rig.queue.settle()
    assert len(rig.conductor.outcomes) == 10


def test_unavailable_conductor_does_not_delay_builds(rig: AgentRig) -> None:
    rig.conductor.failures_left = 1000
    for uuid in ("a", "b"):
        rig.build(rig.intent(uuid))
        rig.queue.run()
    assert set(rig.guests()) == {("a", 1), ("b", 1)}
    rig.conductor.failures_left = 0
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"], ("b", 1): ["active"]}


def test_rejected_request_does_not_delay_others(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    confirm = rig.ledger.confirm_claims

    def reject(ctxt: Any, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        if "bad" in refs.consumers:
            raise errors.MalformedObject(name="ClaimRefs", why="it is bad")
        return confirm(ctxt, host, refs)

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "confirm_claims", reject)
        rig.build(replace(rig.intent("bad"), request_id="req-other"), rig.intent("good"))
        rig.queue.run()
        assert list(rig.guests()) == [("good", 1)]
    rig.queue.settle()
    assert set(rig.guests()) == {("good", 1), ("bad", 1)}


def test_failed_saga_pass_is_retried(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    assert rig.guest_manager is not None
    with monkeypatch.context() as patch:
        rig.build(rig.intent("a"))
        patch.setattr(rig.guest_manager.journal._file, "append", full)
        with pytest.raises(OSError, match="No space"):
            rig.queue.run()
    # the message was not journalled, so it had no effect; its sender will repeat it
    assert rig.guest_manager.tracker.instances()["alpha/node0"] == 0
    rig.build(rig.intent("a"))
    with monkeypatch.context() as patch:
        append, calls = rig.guest_manager.journal._file.append, iter(range(10))

        def full_once(*args: object) -> None:
            if next(calls) == 1:
                raise OSError(28, "No space left on device")
            append(*args)  # type: ignore[arg-type]

        patch.setattr(rig.guest_manager.journal._file, "append", full_once)
        with pytest.raises(OSError, match="No space"):
            rig.queue.run()
        rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"]}
