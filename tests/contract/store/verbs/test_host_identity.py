# SPDX-License-Identifier: Apache-2.0
"""Identity of a host: the uuid of its agent's state folder, which owns the host's name."""

from collections.abc import Callable
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.records import StatsOutcome
from tests.support.store.store_partition import ROOMY, SMALL, StorePartition, node_stats, running

FIRST, SECOND, THIRD = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2, 3))


def register(partition: StorePartition, host_uuid: str, agent: str = "", **options: Any) -> StatsOutcome:
    """Register a start of the agent of this state folder as h1."""
    values = {"incarnation": 0, "register": True, "agent": agent or host_uuid, "host_uuid": host_uuid} | options
    return partition.report("h1", {"h1": node_stats(ROOMY)}, **values)


def epoch_of(partition: StorePartition) -> int:
    return partition.store.snapshot().epoch


def audit(partition: StorePartition, host_uuid: str, *guests: Any) -> list[Answer]:
    outcome = partition.store.audit("h1", epoch_of(partition), guests, 0, host_uuid=host_uuid)
    return [result.answer for result in outcome.answers]


def service(partition: StorePartition) -> dict[str, Any]:
    return partition.store.get_state("service", "h1")[1]


def silence(partition: StorePartition) -> None:
    """Let h1 count as down."""
    partition.store.reap(dead_after_ms=0, tombstone_ms=3_600_000)
    if service(partition)["alive"]:  # it reported in this very millisecond
        partition.wait_until(partition.time() + 1)
        partition.store.reap(dead_after_ms=0, tombstone_ms=3_600_000)
    assert not service(partition)["alive"]


@pytest.fixture
def owned(partition: StorePartition) -> StorePartition:
    """A partition with host h1 of folder FIRST, open and without claims."""
    register(partition, FIRST)
    audit(partition, FIRST)
    return partition


def test_registration_records_the_uuid_of_the_state_folder(owned: StorePartition) -> None:
    version, document = owned.store.get_state("service", "h1")
    assert document["host_uuid"] == FIRST
    # a restart changes nothing about the identity, and makes no decision stale
    register(owned, FIRST, agent="restart")
    assert owned.store.get_state("service", "h1")[0] == version
    assert service(owned)["audited"]


@pytest.mark.parametrize("host_uuid", ["first", FIRST.replace("0", "A"), f'{FIRST}"'])
def test_identity_must_be_a_uuid(partition: StorePartition, host_uuid: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="host_uuid of 'h1' must be a uuid"):
        register(partition, host_uuid)


@pytest.mark.parametrize("state", ["prepared", "confirmed", "unverified"])
def test_namesake_is_refused_while_the_host_has_claims(owned: StorePartition, state: str) -> None:
    if state == "unverified":
        assert audit(owned, FIRST, running(ClaimRef("c1", 1), "h1")) == [Answer.UNVERIFIED]
    else:
        (owned.hold if state == "confirmed" else owned.prepare)("c1", "h1")
    silence(owned)
    before = owned.store.snapshot()
    with pytest.raises(errors.HostIdentityConflict, match=f"state folder {FIRST} has this name, and it has 1 claims.*"):
        register(owned, SECOND)
    # nothing has changed: the host is as it was, and its agent returns as if nothing had been
    assert owned.store.snapshot() == before
    register(owned, FIRST, agent="restart")
    assert owned.used("h1") == SMALL


def test_namesake_is_refused_while_the_agent_is_up(owned: StorePartition) -> None:
    with pytest.raises(errors.HostIdentityConflict, match="its agent is up"):
        register(owned, SECOND)
    silence(owned)
    register(owned, SECOND)
    assert service(owned)["host_uuid"] == SECOND


def test_empty_host_that_is_down_is_taken_over_and_must_audit(owned: StorePartition) -> None:
    silence(owned)
    outcome = register(owned, SECOND)
    assert outcome.audit
    assert not service(owned)["audited"]
    assert tuple(owned.prepare("c1", "h1").verdicts) == (Verdict.CLOSED,)
    audit(owned, SECOND)
    assert owned.prepare("c1", "h1").answer is Answer.PREPARED
    with pytest.raises(errors.HostIdentityConflict):
        register(owned, FIRST, agent="restart")
    owned.check()


Call = Callable[[StorePartition, ClaimRef, str], Any]
CALLS: dict[str, Call] = {
    "confirm": lambda partition, ref, host_uuid: partition.store.confirm("h1", [ref], host_uuid=host_uuid),
    "abort": lambda partition, ref, host_uuid: partition.store.abort([ref], "h1", host_uuid=host_uuid),
    "release": lambda partition, ref, host_uuid: partition.store.release("h1", [ref], host_uuid=host_uuid),
    "audit": lambda partition, ref, host_uuid: audit(partition, host_uuid),
    "audit of guests": lambda partition, ref, host_uuid: audit(partition, host_uuid, running(ref, "h1")),
}


@pytest.mark.parametrize("host_uuid", [SECOND, ""])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_only_the_owner_acts_for_the_host(owned: StorePartition, call: Call, host_uuid: str) -> None:
    ref = ClaimRef("c1", owned.prepare("c1", "h1").attempt)
    before, states = owned.store.snapshot(), owned.states()
    with pytest.raises(errors.HostIdentityConflict, match=f"state folder {FIRST} has this name"):
        call(owned, ref, host_uuid)
    assert (owned.store.snapshot(), owned.states()) == (before, states)
    call(owned, ref, FIRST)


def test_conductor_needs_no_identity(owned: StorePartition) -> None:
    ref = ClaimRef("c1", owned.prepare("c1", "h1").attempt)
    assert owned.store.abort([ref], None)[0].answer is Answer.ABORTED


def test_host_of_an_agent_without_identity_gets_the_first_one(partition: StorePartition) -> None:
    register(partition, "", agent="older")
    audit(partition, "")
    partition.hold("c1", "h1")
    register(partition, FIRST)
    assert service(partition)["host_uuid"] == FIRST
    with pytest.raises(errors.HostIdentityConflict):
        register(partition, "", agent="older, restarted")


def test_fenced_host_waits_for_its_agent_until_it_is_replaced(owned: StorePartition) -> None:
    ref = owned.hold("c1", "h1")
    owned.store.fence("h1", "token-1", force=True)
    silence(owned)
    with pytest.raises(errors.HostIdentityConflict, match="it was fenced: its guests end when its agent returns"):
        register(owned, SECOND)
    register(owned, FIRST, agent="restart")
    assert audit(owned, FIRST, running(ref, "h1")) == [Answer.FENCED]


def test_replaced_host_ends_its_claims_and_lets_another_folder_register(owned: StorePartition) -> None:
    owned.hold("c1", "h1")
    assert owned.store.fence("h1", "token-1", force=True, replace=True) == 1
    # although the host still counts as alive: the operator said so
    register(owned, SECOND)
    assert (owned.states(), service(owned)["host_uuid"]) == ({}, SECOND)
    assert "replaced" not in service(owned)
    audit(owned, SECOND)
    ref = owned.hold("c2", "h1")
    # a late repetition of the call replaces nothing, and the former machine is refused
    assert owned.store.fence("h1", "token-1", force=True, replace=True) == 1
    with pytest.raises(errors.HostIdentityConflict):
        register(owned, FIRST, agent="restart")
    with pytest.raises(errors.HostIdentityConflict):
        audit(owned, FIRST)
    assert audit(owned, SECOND, running(ref, "h1")) == [Answer.CONFIRMED]
    owned.check()


def test_fence_reaches_a_machine_that_returns_before_its_replacement(owned: StorePartition) -> None:
    ref = owned.hold("c1", "h1")
    owned.store.fence("h1", "token-1", force=True, replace=True)
    register(owned, FIRST, agent="restart")
    assert audit(owned, FIRST, running(ref, "h1")) == [Answer.FENCED]
    next_ref = owned.hold("c2", "h1")
    with pytest.raises(errors.HostIdentityConflict, match="it has 1 claims"):
        register(owned, SECOND)
    assert audit(owned, FIRST, running(next_ref, "h1")) == [Answer.CONFIRMED]


def test_guests_of_a_replacement_that_the_store_forgot_are_kept(owned: StorePartition) -> None:
    # given a machine that was replaced, and a store that is restored from before that
    owned.hold("c1", "h1")
    mark = owned.mark()
    owned.store.fence("h1", "token-1", force=True, replace=True)
    register(owned, SECOND)
    audit(owned, SECOND)
    ref = owned.hold("c2", "h1")
    owned.forget_since(mark)
    # when the replacement returns, then it is refused until the operator declares once more that the first one is gone
    with pytest.raises(errors.HostIdentityConflict, match="it may run guests that the store forgot"):
        register(owned, SECOND, agent="restart")
    owned.store.fence("h1", "token-2", force=True, replace=True)
    register(owned, SECOND, agent="restart")
    # and no guest of the replacement ends
    assert audit(owned, SECOND, running(ref, "h1")) == [Answer.CONFIRMED]
    assert owned.states() == {"c2": "confirmed"}
    owned.check()


def test_namesake_does_not_answer_for_an_awaited_host(owned: StorePartition) -> None:
    owned.new_epoch()
    silence(owned)
    with pytest.raises(errors.HostIdentityConflict, match="it may run guests that the store forgot"):
        register(owned, SECOND)
    assert list(owned.store.verify().awaited) == ["h1"]
    register(owned, FIRST, agent="restart")
    audit(owned, FIRST)
    assert list(owned.store.verify().awaited) == []


def test_new_folder_waits_while_forgotten_hosts_are_named(partition: StorePartition) -> None:
    # given a store that forgot the host with its identity
    mark = partition.mark()
    register(partition, FIRST)
    audit(partition, FIRST)
    ref = partition.hold("c1", "h1")
    epoch = partition.forget_and_collect(mark)
    # when the agent of a new folder comes first, then it is refused, also after the host was named
    for named in ((), ("h1",)):
        partition.store.name_hosts(epoch, named, complete=bool(named))
        with pytest.raises(errors.HostIdentityConflict, match="this new folder does not know"):
            register(partition, SECOND, served=False)
    # and the agent that was served before gets its claims back
    register(partition, FIRST, agent="restart")
    assert audit(partition, FIRST, running(ref, "h1")) == [Answer.CONFIRMED]
    assert partition.states() == {"c1": "confirmed"}
    with pytest.raises(errors.HostIdentityConflict, match="it has 1 claims"):
        register(partition, SECOND, served=False)


def test_new_host_joins_once_all_forgotten_hosts_are_named(partition: StorePartition) -> None:
    partition.add_host("h9")
    epoch = partition.new_collecting_epoch()
    with pytest.raises(errors.HostIdentityConflict):
        register(partition, FIRST, served=False)
    partition.store.name_hosts(epoch, [], complete=True)
    register(partition, FIRST, served=False)


@pytest.mark.parametrize("declared", ["fenced", "removed"])
def test_new_folder_registers_once_the_forgotten_host_is_declared_gone(
    partition: StorePartition, declared: str
) -> None:
    partition.add_host("h9")
    epoch = partition.new_collecting_epoch()
    partition.store.name_hosts(epoch, ["h1"], complete=True)
    with pytest.raises(errors.HostIdentityConflict):
        register(partition, SECOND, served=False)
    if declared == "fenced":
        partition.store.fence("h1", "token-1", replace=True)
    else:
        partition.store.remove("h1", lost=True)
    register(partition, SECOND, served=False)
    audit(partition, SECOND)
    assert partition.prepare("c1", "h1").answer is Answer.PREPARED


def test_removed_host_has_no_owner(owned: StorePartition) -> None:
    owned.store.remove("h1")
    register(owned, SECOND)
    assert service(owned)["host_uuid"] == SECOND


def test_copied_folder_stays_a_duplicate_identity(owned: StorePartition) -> None:
    owned.hold("c1", "h1")
    incarnations = {agent: register(owned, FIRST, agent).incarnation for agent in ("one", "two")}
    for agent in ("one", "two"):
        incarnations[agent] = register(owned, FIRST, agent, incarnation=incarnations[agent]).incarnation
    assert "duplicate_ms" in service(owned)


def test_refusal_of_an_agent_makes_earlier_decisions_stale_until_it_registers_without(owned: StorePartition) -> None:
    version = owned.store.get_state("service", "h1")[0]
    register(owned, FIRST, agent="renamed", refusal="host h1 takes no new guests")
    assert service(owned)["refusal"] == "host h1 takes no new guests"
    assert service(owned)["enabled"] is True  # that is the operator's
    assert owned.store.get_state("service", "h1")[0] == version + 1
    register(owned, FIRST, agent="renamed back")
    assert "refusal" not in service(owned)
    assert service(owned)["audited"]
