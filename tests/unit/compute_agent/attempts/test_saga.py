# SPDX-License-Identifier: Apache-2.0
"""The saga of attempts: confirm, spawn, end of the claim and report, during outages of other services."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempts.saga import REMIND_ALL_MS, REMIND_MS
from rpcapi.objects.guest import STOP
from rpcapi.resources.claims import MAX_INSTANCES, ClaimRole
from tests.support.agent.rig import AgentRig, ScriptedProfile


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    yield rig
    rig.stop()


def verbs(rig: AgentRig) -> list[str]:
    return [verb for verb, _ in rig.ledger.calls]


def test_guest_is_reported_after_it_has_booted(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.run()
    assert rig.guests()[("a", 1)].name == "alpha/node0"
    assert rig.ledger.states[("a", 1)] == "confirmed"
    assert rig.conductor.reports == []

    begun = rig.clock.now
    rig.queue.settle()

    assert rig.clock.now - begun == 1000
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


@pytest.mark.parametrize("starts_off", [False, True])
def test_guest_is_reported_again_within_hours(rig: AgentRig, starts_off: bool) -> None:
    # An audit may have restored the claim of an instance that was deleted: only a report ends its guest
    rig.build(replace(rig.intent("a"), starts_off=starts_off))
    rig.queue.settle()
    outcome = "stopped" if starts_off else "active"
    rig.host.remind()
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): [outcome]}

    for _ in range(2):
        rig.clock.now += REMIND_ALL_MS
        rig.host.remind()
        rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): [outcome] * 3}


def test_guest_that_a_message_changed_is_reported_again_within_minutes(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b"))
    rig.queue.settle()
    rig.change(("a", 1), STOP, ClaimRole.ONLY, 2)
    rig.queue.settle()
    for _ in range(2):
        rig.clock.now += REMIND_MS
        rig.host.remind()
        rig.queue.settle()
    assert rig.conductor.outcomes[("a", 1)] == ["active", "stopped", "stopped", "stopped"]
    assert len(rig.conductor.outcomes[("b", 1)]) <= 2


def test_message_needs_one_confirm_and_two_durable_writes_for_any_number_of_instances(rig: AgentRig) -> None:
    writes: list[int] = []
    file = rig.guest_manager.journal._file  # type: ignore[union-attr]
    append = file.append

    def count_write(records: list, durable: bool = True) -> None:
        writes.append(durable)
        append(records, durable)

    file.append = count_write  # type: ignore[method-assign]
    rig.build(*(rig.intent(f"i{number}", node=number % 2, VCPU=1) for number in range(16)))
    rig.queue.settle()

    assert verbs(rig) == ["confirm_claims"]
    assert sum(writes) == 2  # the intents, and that they are confirmed
    assert len(rig.guests()) == len(rig.ledger.live()) == 16
    assert len(rig.conductor.reports) == 1


def test_largest_request_without_capacity_is_ended_and_reported_by_one_call_each(rig: AgentRig) -> None:
    """Members of an affinity group only move to an alternate together."""
    rig.build(*(rig.intent(f"i{number}", VCPU=10_000) for number in range(MAX_INSTANCES)))
    rig.queue.settle()
    assert verbs(rig) == ["abort_claims"]
    assert len(rig.conductor.reports) == 1
    assert set(map(tuple, rig.conductor.outcomes.values())) == {("refused",)}
    assert len(rig.conductor.outcomes) == MAX_INSTANCES


def test_guest_is_not_spawned_before_its_claim_is_confirmed(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    # the claim is confirmed, but the answer is lost
    assert rig.ledger.states[("a", 1)] == "confirmed"
    assert rig.guests() == {}

    rig.queue.settle()

    assert verbs(rig) == ["confirm_claims", "confirm_claims"]
    assert list(rig.guests()) == [("a", 1)]
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


@pytest.mark.parametrize("end", ["expired", "aborted", "released", "unknown", "ended", "conflict"])
def test_ended_claim_refuses_the_build(rig: AgentRig, end: str) -> None:
    intent = rig.intent("a")
    rig.ledger.states[("a", 1)] = end
    rig.build(intent)
    rig.queue.settle()
    assert rig.guests() == {}
    assert rig.conductor.outcomes == {("a", 1): ["refused"]}
    assert rig.conductor.reasons[("a", 1)] == f"claim could not be confirmed: {end}"
    assert verbs(rig) == ["confirm_claims"]


def test_claim_of_another_host_refuses_the_build(rig: AgentRig) -> None:
    rig.ledger.prepare("a", 1, "beta/node0")
    rig.build(rig.intent("a"))
    rig.queue.settle()
    assert rig.conductor.reasons[("a", 1)] == "claim could not be confirmed: foreign"
    assert rig.ledger.states[("a", 1)] == "prepared"


def test_claim_that_expired_during_a_lost_confirm_refuses_the_build(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    intent = rig.intent("a")
    rig.ledger.states[("a", 1)] = "expired"
    rig.build(intent)
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["refused"]}
    assert rig.guests() == {}


def test_confirm_is_retried_while_the_host_is_closed(rig: AgentRig) -> None:
    intent = rig.intent("a")
    rig.ledger.states[("a", 1)] = "closed"
    rig.build(intent)
    rig.queue.run()
    assert rig.conductor.reports == []
    rig.ledger.states[("a", 1)] = "prepared"
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


def test_abort_of_confirmed_claim_releases_it(rig: AgentRig) -> None:
    intent = rig.intent("refused-1")
    rig.ledger.states[("refused-1", 1)] = "confirmed"
    rig.build(intent)
    rig.queue.settle()
    assert verbs(rig) == ["abort_claims", "release_claims"]
    assert rig.ledger.live() == {}
    assert rig.conductor.outcomes == {("refused-1", 1): ["refused"]}


def test_failed_spawn_releases_the_claim_and_frees_the_host(rig: AgentRig) -> None:
    rig.ledger.lose = ["release_claims", "release_claims"]
    rig.build(rig.intent("failing-1", VCPU=8))
    rig.queue.settle()
    assert rig.conductor.outcomes == {("failing-1", 1): ["failed"]}
    assert verbs(rig) == ["confirm_claims", "release_claims", "release_claims", "release_claims"]
    assert rig.ledger.states[("failing-1", 1)] == "released"
    rig.build(rig.intent("a", VCPU=8))
    rig.queue.settle()
    assert rig.conductor.last(("a", 1)) == "active"


def test_outcome_is_reported_only_after_the_claim_has_ended(rig: AgentRig) -> None:
    rig.ledger.lose = ["abort_claims"]
    rig.build(rig.intent("refused-1"))
    rig.queue.run()
    assert rig.conductor.reports == []
    rig.queue.settle()
    assert rig.conductor.outcomes == {("refused-1", 1): ["refused"]}


def test_reports_are_repeated_until_the_conductor_answers(rig: AgentRig) -> None:
    rig.conductor.failures_left = 5
    rig.build(rig.intent("a"), rig.intent("refused-1"))
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"], ("refused-1", 1): ["refused"]}
    assert rig.queue.waiting() == 0


def test_unreported_outcomes_survive_a_restart_and_reported_are_not_repeated(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("refused-1"))
    rig.queue.settle()
    rig.conductor.failures_left = 1
    rig.build(rig.intent("b"), rig.intent("refused-2"))
    rig.queue.run()
    rig.clock.now += 2000
    rig.stop()

    rig.conductor.failures_left = 0
    rig.serve()
    rig.queue.settle()

    assert rig.conductor.outcomes == {
        ("a", 1): ["active"],
        ("b", 1): ["active"],
        ("refused-1", 1): ["refused"],
        ("refused-2", 1): ["refused"],
    }
