# SPDX-License-Identifier: Apache-2.0
"""Registration of agents: issued incarnations, superseded agents, and two agents with one identity."""

from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store import registrations
from scheduler_svc.store.records import HostReport, StatsOutcome
from tests.support.store.store_partition import (
    LONG_MS,
    ROOMY,
    SMALL,
    StorePartition,
    intent,
    node_stats,
    running,
)


class Agent:
    """One start of an agent of host h1."""

    def __init__(self, partition: StorePartition, name: str) -> None:
        self._partition = partition
        self._name = name
        self.incarnation = 0
        self.sequence = 0

    def register(self) -> int:
        """Register with a full report, and return the incarnation."""
        self.incarnation = self._send(full=True, register=True).incarnation
        return self.incarnation

    def beat(self) -> StatsOutcome:
        """Send a heartbeat: a delta without changes."""
        return self._send(full=False, register=False, base=self.sequence)

    def _send(self, full: bool, **options: Any) -> StatsOutcome:
        nodes = {"h1": node_stats(ROOMY)} if full else {}
        self.sequence += 1
        report = HostReport(self.incarnation, self.sequence, nodes, full=full, agent=self._name, **options)
        return self._partition.store.update_stats("h1", report)


def service(partition: StorePartition) -> dict[str, Any]:
    return partition.store.get_state("service", "h1")[1]


def make_duplicate(partition: StorePartition) -> tuple[Agent, Agent]:
    """Let two agents alternate until their host is a duplicate identity."""
    first, second = Agent(partition, "first"), Agent(partition, "second")
    for agent in (first, second, first, second):
        agent.register()
    return first, second


def test_each_registration_gets_a_larger_incarnation(partition: StorePartition) -> None:
    incarnations = [Agent(partition, f"agent{number}").register() for number in range(3)]
    assert incarnations == sorted(set(incarnations))
    partition.new_epoch()
    assert Agent(partition, "last").register() > incarnations[-1]


def test_incarnation_does_not_repeat_after_the_host_was_removed(partition: StorePartition) -> None:
    first = Agent(partition, "first").register()
    partition.store.remove("h1")
    assert Agent(partition, "second").register() > first


def test_incarnation_does_not_repeat_after_the_store_forgot_it(partition: StorePartition) -> None:
    Agent(partition, "first").register()
    mark = partition.mark()
    forgotten = Agent(partition, "second").register()
    partition.forget_since(mark)
    assert Agent(partition, "third").register() > forgotten


def test_repeated_registration_gets_the_recorded_incarnation(partition: StorePartition) -> None:
    agent = Agent(partition, "first")
    incarnation = agent.register()
    agent.beat()
    before = partition.store.snapshot()
    agent.incarnation = agent.sequence = 0
    assert agent.register() == incarnation
    assert partition.store.snapshot() == before


def test_report_of_another_incarnation_changes_nothing(partition: StorePartition) -> None:
    former, current = Agent(partition, "former"), Agent(partition, "current")
    former.register()
    current.register()
    before, beat = partition.store.snapshot(), service(partition)["last_report_ms"]
    partition.wait_until(beat + 2)
    for sequence in (1, 2, 50):
        report = HostReport(former.incarnation, sequence, {"h1": node_stats({"VCPU": 9})}, agent="former")
        outcome = partition.store.update_stats("h1", report)
        assert (outcome.superseded, outcome.need_full, outcome.incarnation) == (True, False, 0)
    assert partition.store.snapshot() == before
    assert service(partition)["last_report_ms"] == beat
    assert not current.beat().superseded


@pytest.mark.parametrize("incarnation", [1, registrations.incarnation(9_999_999_999_999, 5)])
def test_incarnation_that_was_never_issued_is_superseded(partition: StorePartition, incarnation: int) -> None:
    # given an incarnation from long ago, or from a clock far ahead
    unknown = partition.report("h1", {"h1": node_stats(ROOMY)}, incarnation=incarnation, sequence=1)
    assert unknown.superseded and partition.store.snapshot().providers == {}
    # then it stops no agent that registers
    agent = Agent(partition, "agent")
    agent.register()
    assert partition.report("h1", {}, incarnation=incarnation, sequence=9).superseded
    assert not agent.beat().superseded


def test_restarts_of_an_agent_are_no_duplicate(partition: StorePartition) -> None:
    for number in range(5):
        agent = Agent(partition, f"start{number}")
        agent.register()
        agent.beat()
    assert "duplicate_ms" not in service(partition)


def test_late_registration_of_an_agent_that_has_ended_is_no_duplicate(partition: StorePartition) -> None:
    current = Agent(partition, "current")
    current.register()
    Agent(partition, "ended").register()
    assert current.beat().superseded
    current.register()
    assert not current.beat().superseded
    assert "duplicate_ms" not in service(partition)


def test_agents_that_register_again_after_the_store_forgot_are_no_duplicate(partition: StorePartition) -> None:
    agent = Agent(partition, "before")
    agent.register()
    mark = partition.mark()
    agent = Agent(partition, "after")
    agent.register()
    for _ in range(3):
        partition.forget_since(mark)
        assert agent.beat().superseded
        agent.register()
    assert "duplicate_ms" not in service(partition)


def test_alternating_agents_are_a_duplicate_identity_that_takes_no_claims(partition: StorePartition) -> None:
    partition.add_host("h1")
    version = partition.store.get_state("service", "h1")[0]
    early = partition.batch(intent("c1", "h1"))  # decided before
    make_duplicate(partition)
    assert service(partition)["duplicate_ms"] <= partition.time()
    assert service(partition)["enabled"] is True
    assert partition.store.get_state("service", "h1")[0] == version + 1
    assert tuple(partition.store.prepare(early).prepared[0].verdicts) == (Verdict.STALE,)


def test_duplicate_identity_ends_after_quiet_time(partition: StorePartition, monkeypatch: pytest.MonkeyPatch) -> None:
    _first, second = make_duplicate(partition)
    second.beat()
    assert "duplicate_ms" in service(partition)
    version = partition.store.get_state("service", "h1")[0]
    monkeypatch.setattr(registrations, "DUPLICATE_QUIET_MS", 1)
    partition.wait_until(service(partition)["duplicate_ms"] + 2)
    assert not second.beat().superseded
    assert "duplicate_ms" not in service(partition)
    assert partition.store.get_state("service", "h1")[0] == version + 1


def test_operator_ends_a_duplicate_identity(partition: StorePartition) -> None:
    first, second = make_duplicate(partition)
    version = partition.store.get_state("service", "h1")[0]
    partition.store.put_state("service", "h1", version, {"enabled": True, "duplicate_ms": None})
    assert "duplicate_ms" not in service(partition)
    second.beat()
    assert "duplicate_ms" not in service(partition)
    # And the agent that stays registers again, because the one that ended had registered last
    first.register()
    assert "duplicate_ms" not in service(partition)
    second.register()  # both are still there
    assert "duplicate_ms" in service(partition)


def test_audit_of_a_duplicate_identity_releases_no_claim(partition: StorePartition) -> None:
    # given a claim that the first of two agents runs
    Agent(partition, "first").register()
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [], 0)
    ref = partition.hold("c1", "h1")
    make_duplicate(partition)

    # when the second one audits, which runs nothing, and its grace is over
    outcomes = [partition.store.audit("h1", epoch, [], 0) for _ in range(2)]
    # then the claim is kept, and an audit must follow
    assert [(outcome.released, outcome.orphans) for outcome in outcomes] == [(0, 1), (0, 1)]
    assert all(outcome.again_ms >= 1000 for outcome in outcomes)
    assert partition.states() == {"c1": "confirmed"}
    # and the first one's audit ends the doubt
    assert partition.store.audit("h1", epoch, [running(ref, "h1")], 0).orphans == 0

    # when the host has one agent again
    version = partition.store.get_state("service", "h1")[0]
    partition.store.put_state("service", "h1", version, {"duplicate_ms": None})
    assert partition.store.audit("h1", epoch, [], 0).released == 1


@pytest.mark.parametrize("has_ended", [False, True])
def test_audit_of_a_duplicate_identity_ends_no_unverified_claim(partition: StorePartition, has_ended: bool) -> None:
    # given a guest that the first of two agents runs and the store does not know
    Agent(partition, "first").register()
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [], 0)
    ref = ClaimRef("c1", 1)
    partition.store.audit("h1", epoch, [running(ref, "h1")], 0)
    # when the second one audits, which runs nothing, before the identity is recognised as a duplicate: its grace begins
    assert partition.store.audit("h1", epoch, [], LONG_MS).orphans == 1
    make_duplicate(partition)
    if has_ended:
        partition.store.abort([ref])
    # or when its grace is over, then the guest still counts
    assert partition.store.audit("h1", epoch, [], 0).orphans == 1
    assert partition.used("h1") == SMALL
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.CLOSED
    partition.check()
    # when the host has one agent again, then its audit decides
    version = partition.store.get_state("service", "h1")[0]
    partition.store.put_state("service", "h1", version, {"duplicate_ms": None})
    assert partition.store.audit("h1", epoch, [], 0).released == 1
    partition.check()


def test_operator_cannot_mark_a_duplicate_identity(partition: StorePartition) -> None:
    Agent(partition, "agent").register()
    with pytest.raises(errors.InvalidRequest, match="duplicate_ms can only be cleared"):
        partition.store.put_state("service", "h1", 1, {"duplicate_ms": 5})


@pytest.mark.parametrize("options", [{"full": False}, {"agent": ""}])
def test_registration_must_be_full_and_identify_its_agent(partition: StorePartition, options: dict[str, Any]) -> None:
    values = {"full": True, "agent": "a"} | options
    with pytest.raises(errors.InvalidRequest, match="host 'h1' must register with a full report that identifies"):
        partition.store.update_stats("h1", HostReport(0, 1, {}, register=True, **values))
