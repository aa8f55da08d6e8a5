# SPDX-License-Identifier: Apache-2.0
"""Claims of instances that move: they keep their identity, also after an epoch or a rollback."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, ClaimRole, GroupPolicy
from scheduler_svc.core.records import ClaimGroup, ClaimRef, ClaimResult, IntentResult
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from tests.contract.store.verbs.pool_allocations import accepted, disk, partition_with_pool, put
from tests.support.store.store_partition import LONG_MS, SHORT_MS, SMALL, StorePartition, intent, running

REF, NEXT = ClaimRef("c1", 1), ClaimRef("c1", 2)
GROUP = ClaimGroup("g1", GroupPolicy.AFFINITY)


@pytest.fixture
def hosts(partition: StorePartition) -> StorePartition:
    """A partition with a claim of c1 on h1, and two empty hosts."""
    for host in ("h1", "h2", "h3"):
        partition.add_host(host)
    partition.hold("c1", "h1")
    return partition


@pytest.fixture
def moving(hosts: StorePartition) -> StorePartition:
    """A partition in which the claim on h1 is the source of m1."""
    assert begin(hosts).answer is Answer.CONFIRMED
    return hosts


@pytest.fixture
def moved(moving: StorePartition) -> StorePartition:
    """A partition in which c1 also has a confirmed claim on its destination h2."""
    assert moving.hold("c1", "h2", attempt=2, move=("m1", 1)) == NEXT
    return moving


def begin(partition: StorePartition, migration: str = "m1", ref: ClaimRef = REF) -> ClaimResult:
    return partition.store.begin_moves([ref], [migration])[0]


def end(partition: StorePartition, migration: str = "m1", ref: ClaimRef = REF) -> ClaimResult:
    return partition.store.end_moves([ref], [migration])[0]


def audit(partition: StorePartition, host: str, *claims: RunningClaim, grace_ms: int = 0) -> AuditOutcome:
    outcome = partition.store.audit(host, partition.store.snapshot().epoch, claims, grace_ms)
    partition.check()
    return outcome


def source(ref: ClaimRef = REF, host: str = "h1") -> RunningClaim:
    """Return the report of a source whose agent knows that it moves."""
    return replace(running(ref, host), role=ClaimRole.SOURCE, migration="m1")


def destination(ref: ClaimRef = NEXT, host: str = "h2") -> RunningClaim:
    return replace(running(ref, host), role=ClaimRole.DESTINATION, migration="m1", source_attempt=REF.attempt)


def roles(partition: StorePartition) -> dict[ClaimRef, tuple[str, str, str | None]]:
    """Return consumer, role and migration of each claim."""
    return {claim.ref: (claim.consumer, str(claim.role), claim.move) for claim in partition.store.claims()[0]}


def test_source_keeps_its_identity_and_its_amounts(moving: StorePartition) -> None:
    assert begin(moving) == ClaimResult("c1", 1, Answer.CONFIRMED, "h1", migration="m1")
    assert roles(moving) == {REF: ("m1", "source", "m1")} and moving.used("h1") == SMALL
    assert moving.store.find([REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1", migration="m1")]
    assert moving.store.confirm("h1", [REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1")]
    assert moving.store.abort([REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1")]
    assert [claim.ref for claim in moving.store.claims(consumer="c1")[0]] == [REF]
    moving.check()


def test_instance_has_two_claims_as_the_ends_of_one_move(moved: StorePartition) -> None:
    assert roles(moved) == {REF: ("m1", "source", "m1"), NEXT: ("c1", "destination", "m1")}
    assert {claim.ref for claim in moved.store.claims(consumer="c1")[0]} == {REF, NEXT}
    assert moved.prepare("c1", "h3", attempt=3).answer is Answer.CONFLICT
    moved.check()


def test_ends_of_a_move_may_be_on_one_host(moving: StorePartition) -> None:
    assert moving.hold("c1", "h1", attempt=2, move=("m1", 1)) == NEXT
    assert moving.used("h1") == {name: 2 * amount for name, amount in SMALL.items()}
    assert audit(moving, "h1", source(), destination(host="h1")).answers == [
        ClaimResult("c1", 1, Answer.CONFIRMED),
        ClaimResult("c1", 2, Answer.CONFIRMED),
    ]


def test_released_source_leaves_an_only_claim(moved: StorePartition) -> None:
    assert moved.store.release("h1", [REF]) == [ClaimResult("c1", 1, Answer.RELEASED, "h1")]
    assert roles(moved) == {NEXT: ("c1", "only", None)} and moved.used("h1") in ({}, dict.fromkeys(SMALL, 0))
    assert begin(moved).answer is Answer.RELEASED
    assert begin(moved, "m2", NEXT).answer is Answer.CONFIRMED
    moved.check()


def test_source_is_the_only_claim_again_after_its_destination(moved: StorePartition) -> None:
    assert end(moved) == ClaimResult("c1", 1, Answer.CONFLICT, "h2", migration="m1")
    moved.store.release("h2", [NEXT])
    for _ in range(2):
        assert end(moved) == ClaimResult("c1", 1, Answer.CONFIRMED, "h1")
    assert roles(moved) == {REF: ("c1", "only", None)} and moved.used("h1") == SMALL
    moved.check()


def test_late_message_does_not_begin_an_ended_move(moving: StorePartition) -> None:
    end(moving)
    assert begin(moving).answer is Answer.ENDED
    assert roles(moving) == {REF: ("c1", "only", None)}
    assert begin(moving, "m2").answer is Answer.CONFIRMED


def test_move_that_never_began_ends_too(hosts: StorePartition) -> None:
    assert end(hosts) == ClaimResult("c1", 1, Answer.CONFIRMED, "h1")
    assert begin(hosts).answer is Answer.ENDED


def test_end_of_a_move_leaves_the_claim_to_a_later_one(moving: StorePartition) -> None:
    assert end(moving).answer is begin(moving, "m2").answer is Answer.CONFIRMED
    for _ in range(2):
        assert end(moving) == ClaimResult("c1", 1, Answer.ENDED, "h1", migration="m2")
    assert roles(moving) == {REF: ("m2", "source", "m2")}


def test_next_attempt_after_a_revert_has_a_new_number(moved: StorePartition) -> None:
    moved.store.release("h2", [NEXT])
    end(moved)
    begin(moved, "m2")
    assert moved.prepare("c1", "h2", attempt=2, move=("m2", 1)).answer is Answer.ENDED
    assert moved.prepare("c1", "h2", attempt=3, move=("m2", 1)).answer is Answer.PREPARED


def test_prepare_waits_or_conflicts_if_the_store_knows_another_move(moved: StorePartition) -> None:
    # Given a store that has no reason to doubt that c1 moves by m1
    for move in (None, ("m2", 2), ("m1", 2)):
        assert moved.prepare("c1", "h3", attempt=3, replaces=2, move=move).answer is Answer.CONFLICT
    # When it may have forgotten the end of m1, Then an audit decides
    moved.new_epoch()
    audit(moved, "h3")
    for host in ("h1", "h2"):
        assert moved.prepare("c1", "h3", attempt=3, move=("m2", 2)).answer is Answer.CLOSED
        audit(moved, host, source() if host == "h1" else destination())
    assert moved.prepare("c1", "h3", attempt=3, move=("m2", 2)).answer is Answer.CONFLICT


@pytest.mark.parametrize("is_confirmed", [False, True], ids=["prepared", "confirmed"])
def test_attempt_of_another_move_is_no_repetition(hosts: StorePartition, is_confirmed: bool) -> None:
    prepare = hosts.hold if is_confirmed else hosts.prepare
    prepare("c2", "h2", attempt=2, move=("m1", 1))
    for move in (("m2", 1), None):
        assert hosts.prepare("c2", "h3", attempt=2, move=move).answer is Answer.CONFLICT
    assert hosts.prepare("c2", "h3", attempt=2, move=("m1", 1)).host == "h2"


def test_source_of_a_move_begins_no_other(moving: StorePartition) -> None:
    # The destination may be in another partition.
    assert begin(moving, "m2") == ClaimResult("c1", 1, Answer.CONFLICT, "h1", migration="m1")
    assert roles(moving) == {REF: ("m1", "source", "m1")}


@pytest.mark.parametrize("named", ["victim", "m2"], ids=["a consumer", "a move"])
def test_host_that_names_what_is_no_migration_of_its_instance_is_not_believed(
    hosts: StorePartition, named: str
) -> None:
    # Given another instance, and its move
    victim = hosts.hold("victim", "h3", attempt=1)
    other = hosts.hold("other", "h3", attempt=1)
    begin(hosts, "m2", other)
    hosts.new_epoch()
    audit(hosts, "h1", running(REF, "h1"))
    moving = replace(running(other, "h3"), role=ClaimRole.SOURCE, migration="m2")
    audit(hosts, "h3", running(victim, "h3"), moving)
    before = roles(hosts)
    # When a host asserts a destination of that name, and its conductor vouches for it
    false = replace(destination(), migration=named)
    assert audit(hosts, "h2", false).answers[0].answer is Answer.UNVERIFIED
    assert hosts.store.vouch("h2", [NEXT])[0].answer is Answer.CONFLICT
    # Then the others have their claims
    assert {ref: row for ref, row in roles(hosts).items() if ref in before} == before
    hosts.store.release("h1", [REF])
    answers = audit(hosts, "h3", running(victim, "h3"), moving).answers
    assert [answer.answer for answer in answers] == [Answer.CONFIRMED] * 2


@pytest.mark.parametrize(
    "changes",
    [
        *({"migration": "c1"}, {"migration": None}, {"role": ClaimRole.ONLY}),
        *({"source_attempt": attempt} for attempt in (None, 0, 2)),
    ],
)
def test_audit_with_a_malformed_move_is_refused(hosts: StorePartition, changes: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        audit(hosts, "h2", replace(destination(), **changes))


@pytest.mark.parametrize("consumer", ["c2", "z2"])  # a name before that of the migration, and one after it
def test_audit_that_ends_a_source_leaves_an_only_claim(hosts: StorePartition, consumer: str) -> None:
    # Given a move on one host, which no longer reports the source
    ref, following = ClaimRef(consumer, 1), ClaimRef(consumer, 2)
    hosts.hold(consumer, "h2")
    begin(hosts, ref=ref)
    hosts.hold(consumer, "h2", attempt=2, move=("m1", 1))
    assert audit(hosts, "h2", destination(following), grace_ms=SHORT_MS).orphans == 1
    # When it no longer reports the destination either, after the source's grace period
    hosts.wait_until(hosts.time() + SHORT_MS)
    outcome = audit(hosts, "h2", grace_ms=SHORT_MS)
    # Then the destination is an orphan, and outside the move
    assert (outcome.released, outcome.orphans) == (1, 1)
    assert roles(hosts) == {REF: ("c1", "only", None), following: (consumer, "only", None)}


def test_destination_needs_no_source_in_its_partition(hosts: StorePartition) -> None:
    assert hosts.hold("c2", "h2", attempt=4, move=("m2", 2)) == ClaimRef("c2", 4)
    assert roles(hosts)[ClaimRef("c2", 4)] == ("c2", "destination", "m2")
    # nor does its end say anything of its source, or of attempts after that
    hosts.store.release("h2", [ClaimRef("c2", 4)])
    ends = [hosts.store.find([ClaimRef("c2", attempt)])[0].answer for attempt in range(1, 5)]
    assert ends == [Answer.ABORTED, Answer.UNKNOWN, Answer.UNKNOWN, Answer.RELEASED]


@pytest.mark.parametrize("has_message", [True, False], ids=["message", "no message"])
def test_source_that_audits_after_its_destination_was_prepared_keeps_its_claim(
    hosts: StorePartition, has_message: bool
) -> None:
    # Given a store that forgot an instance, while a conductor selects the destination of its move
    mark = hosts.mark()
    earlier, ref, following = (ClaimRef("c2", attempt) for attempt in (1, 2, 3))
    hosts.store.release("h3", [hosts.hold("c2", "h3")])
    hosts.hold("c2", "h1", attempt=2)
    hosts.forget_since(mark)
    audit(hosts, "h2")
    assert hosts.prepare("c2", "h2", attempt=3, move=("m1", 2)).answer is Answer.PREPARED
    # When the host of the source audits, and a host with an attempt before that
    report = source(ref) if has_message else running(ref, "h1")
    answers = audit(hosts, "h1", report, running(REF, "h1")).answers
    assert [answer.answer for answer in answers] == [Answer.CONFIRMED] * 2
    assert audit(hosts, "h3", running(earlier, "h3")).answers[0].answer is Answer.CONFLICT
    # Then source and destination are the ends of the move
    rows = {ref: ("m1", "source", "m1"), following: ("c2", "destination", "m1"), REF: ("c1", "only", None)}
    assert roles(hosts) == rows


def test_attempt_before_a_source_is_a_conflict(hosts: StorePartition) -> None:
    begin(hosts, ref=hosts.hold("c2", "h2", attempt=2))
    result = hosts.store.find([ClaimRef("c2", 1)])[0]
    assert (result.answer, result.host, result.end) == (Answer.CONFLICT, "h2", Answer.UNKNOWN)


def test_source_is_not_replaced(moving: StorePartition) -> None:
    assert moving.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CONFLICT
    assert roles(moving) == {REF: ("m1", "source", "m1")}
    # nor by its destination
    moving.prepare("c1", "h2", attempt=2, move=("m1", 1))
    assert moving.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CONFLICT


def test_source_is_not_prepared_again(moving: StorePartition) -> None:
    assert moving.prepare("c1", "h2").answer is Answer.CONFLICT
    assert roles(moving) == {REF: ("m1", "source", "m1")}
    # nor beside its destination
    moving.hold("c1", "h2", attempt=2, move=("m1", 1))
    assert moving.prepare("c1", "h3") == IntentResult("c1", 1, Answer.CONFLICT, "h2")


def test_claims_that_cannot_move_are_refused(hosts: StorePartition) -> None:
    hosts.prepare("p1", "h1")
    hosts.hold("c2", "h2")
    assert begin(hosts, ref=ClaimRef("p1", 1)) == ClaimResult("p1", 1, Answer.PREPARED, "h1")
    assert begin(hosts, ref=ClaimRef("cx", 1)) == ClaimResult("cx", 1, Answer.UNKNOWN)
    assert begin(hosts, migration="c2") == ClaimResult("c1", 1, Answer.CONFLICT, "h1")
    assert {str(role) for _consumer, role, _migration in roles(hosts).values()} == {"only"}


def test_destination_of_a_move_cannot_move_on(moved: StorePartition) -> None:
    assert begin(moved, "m2", NEXT) == ClaimResult("c1", 2, Answer.CONFLICT, "h2", migration="m1")


def test_possibly_forgotten_claim_is_closed_until_its_audit(partition: StorePartition) -> None:
    partition.add_host("h1")
    mark = partition.mark()
    partition.hold("c1", "h1")
    partition.forget_since(mark)
    assert begin(partition).answer is end(partition).answer is Answer.CLOSED
    audit(partition, "h1", running(REF, "h1"))
    assert begin(partition).answer is Answer.CONFIRMED


def test_source_is_not_alone_while_its_destination_may_run(moving: StorePartition) -> None:
    mark = moving.mark()
    moving.hold("c1", "h2", attempt=2, move=("m1", 1))
    moving.forget_since(mark)
    audit(moving, "h1", source())
    assert end(moving).answer is Answer.CLOSED
    audit(moving, "h2", destination())
    assert end(moving).answer is Answer.CONFLICT


@pytest.mark.parametrize("first", ["h1", "h2"])
@pytest.mark.parametrize("has_message", [True, False], ids=["message", "no message"])
@pytest.mark.parametrize("part", ["all", "begin", "destination"])
def test_forgotten_move_ends_no_guest(hosts: StorePartition, part: str, first: str, has_message: bool) -> None:
    # Given a move of which the store forgot a part, and a source that has, or has not yet, received a message about it
    marks = {"begin": hosts.mark()}
    begin(hosts)
    marks["destination"] = hosts.mark()
    hosts.hold("c1", "h2", attempt=2)
    marks["all"] = marks["begin"]
    hosts.forget_since(marks[part])
    # When both hosts audit, in any order
    reports = {"h1": source() if has_message else running(REF, "h1"), "h2": destination()}
    answers = [audit(hosts, host, reports[host]).answers[0].answer for host in sorted(reports, reverse=first == "h2")]
    # Then both ends have their claims again
    assert answers == [Answer.CONFIRMED] * 2
    assert roles(hosts) == {REF: ("m1", "source", "m1"), NEXT: ("c1", "destination", "m1")}
    assert (hosts.used("h1"), hosts.used("h2")) == (SMALL, SMALL)


AFTER = {"m2": ClaimRole.DESTINATION, "": ClaimRole.ONLY}  # role of the third attempt, by the migration it is part of


@pytest.mark.parametrize("order", list(itertools.permutations(["h1", "h2", "h3"])), ids="".join)
@pytest.mark.parametrize("migration", AFTER, ids=["moving", "moved"])
@pytest.mark.parametrize("is_reverted", [True, False], ids=["reverted", "confirmed"])
def test_forgotten_end_of_a_move_before_another(
    moved: StorePartition, is_reverted: bool, migration: str, order: Sequence[str]
) -> None:
    # Given a move that ended, and another one to a third host, of which the store has forgotten all
    third = ClaimRef("c1", 3)
    mark = moved.mark()
    ended, stays = (NEXT, REF) if is_reverted else (REF, NEXT)
    hosts = {REF: "h1", NEXT: "h2"}
    moved.store.release(hosts[ended], [ended])
    end(moved, ref=stays)
    begin(moved, "m2", stays)
    moved.hold("c1", "h3", attempt=3, move=("m2", stays.attempt))
    source_attempt = stays.attempt if migration else None
    end_of_move = {"role": AFTER[migration], "migration": migration or None, "source_attempt": source_attempt}
    reports = {"h3": [replace(running(third, "h3"), **end_of_move)]}
    if migration:
        later_source = replace(running(stays, hosts[stays]), role=ClaimRole.SOURCE, migration="m2")
        reports[hosts[stays]] = [later_source]
    moved.forget_since(mark)
    # When the hosts audit, Then no claim contradicts what runs, as soon as its host has audited
    for host in order:
        answers = audit(moved, host, *reports.get(host, [])).answers
        assert [answer.answer for answer in answers] == [Answer.CONFIRMED] * len(answers)
        if host == "h3":
            others = [(role, move) for ref, (_name, role, move) in roles(moved).items() if ref != third]
            assert not others or others == [("source", "m2")], others
    expected = {third: ("c1", str(AFTER[migration]), migration or None)}
    assert roles(moved) == expected | ({stays: ("m2", "source", "m2")} if migration else {})


def test_source_that_was_reported_stays_until_a_conductor_decides(moved: StorePartition) -> None:
    # Given a host that reports the source of a move, in an epoch in which another host reports a later move
    moved.new_epoch()
    assert audit(moved, "h1", source()).answers[0].answer is Answer.CONFIRMED
    third = destination(ClaimRef("c1", 3), "h3")
    third = replace(third, migration="m2", source_attempt=NEXT.attempt)
    assert audit(moved, "h3", third, grace_ms=LONG_MS).answers[0].answer is Answer.UNVERIFIED
    # Then neither end of the earlier move is lost
    assert roles(moved)[REF] == ("m1", "source", "m1")
    assert roles(moved)[NEXT] == ("c1", "destination", "m1")


def test_unconfirmed_destination_of_a_forgotten_move_ends_no_claim(hosts: StorePartition) -> None:
    # Given a move that failed, and a store that forgot its begin and its destination
    mark = hosts.mark()
    begin(hosts)
    hosts.prepare("c1", "h2", attempt=2, move=("m1", 1))
    hosts.forget_since(mark)
    assert end(hosts).answer is Answer.CLOSED  # the destination may run
    # When the destination audits, which never confirmed its claim
    intent = replace(destination(), confirmed=False)
    assert audit(hosts, "h2", intent).answers[0].answer is Answer.ABORTED
    # Then the guest at the source keeps its claim
    assert audit(hosts, "h1", running(REF, "h1")).answers[0].answer is Answer.CONFIRMED
    audit(hosts, "h3")
    assert end(hosts).answer is Answer.CONFIRMED
    assert roles(hosts) == {REF: ("c1", "only", None)}


@pytest.mark.parametrize("first", ["h1", "h2"])
def test_forgotten_claims_are_restored_as_ends_of_their_move(partition: StorePartition, first: str) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    mark = partition.mark()
    partition.hold("c1", "h1")
    begin(partition)
    partition.hold("c1", "h2", attempt=2)
    partition.forget_since(mark)
    reports = {"h1": source(), "h2": destination()}
    for host in sorted(reports, reverse=first == "h2"):
        assert audit(partition, host, reports[host]).answers[0].answer is Answer.CONFIRMED
    assert roles(partition) == {REF: ("m1", "source", "m1"), NEXT: ("c1", "destination", "m1")}


def test_forgotten_revert_keeps_the_guest_on_its_source(moved: StorePartition) -> None:
    # Given a move that was reverted, and a store that forgot that
    mark = moved.mark()
    moved.store.release("h2", [NEXT])
    end(moved)
    moved.forget_since(mark)
    # When the hosts audit, Then the source keeps its claim, and the destination loses its own without a guest
    assert audit(moved, "h1", running(REF, "h1")).answers[0].answer is Answer.CONFIRMED
    assert audit(moved, "h2").released == 1
    assert end(moved).answer is Answer.CLOSED  # h3 may run it
    audit(moved, "h3")
    assert end(moved).answer is Answer.CONFIRMED
    assert roles(moved) == {REF: ("c1", "only", None)}


def test_earlier_attempt_that_the_store_forgot_is_unknown_once_no_host_may_run_it(partition: StorePartition) -> None:
    # Given a move of which only the destination's host has audited since a loss
    for host in ("h1", "h2"):
        partition.add_host(host)
    mark = partition.mark()
    partition.hold("c1", "h1")
    begin(partition)
    partition.hold("c1", "h2", attempt=2)
    partition.forget_since(mark)
    audit(partition, "h2", destination())
    # Then the source may run, until its host is fenced
    assert partition.store.find([REF]) == [ClaimResult("c1", 1, Answer.CONFLICT, "h2", end=Answer.CLOSED)]
    partition.store.fence("h1", "token", force=True)
    assert partition.store.find([REF]) == [ClaimResult("c1", 1, Answer.CONFLICT, "h2", end=Answer.UNKNOWN)]


def test_forgotten_end_of_a_source_is_repeated_by_its_host(moved: StorePartition) -> None:
    mark = moved.mark()
    moved.store.release("h1", [REF])
    moved.forget_since(mark)
    assert audit(moved, "h2", destination()).answers[0].answer is Answer.CONFIRMED
    assert audit(moved, "h1").released == 1
    assert roles(moved) == {NEXT: ("c1", "only", None)}


def test_later_attempt_that_is_no_destination_shows_that_the_former_has_ended(hosts: StorePartition) -> None:
    mark = hosts.mark()
    hosts.store.release("h1", [REF])
    hosts.hold("c1", "h2", attempt=2)
    hosts.forget_since(mark)
    assert audit(hosts, "h2", running(NEXT, "h2")).answers[0].answer is Answer.CONFIRMED
    assert roles(hosts) == {NEXT: ("c1", "only", None)}


def test_report_outside_a_new_epoch_moves_nothing(hosts: StorePartition) -> None:
    assert audit(hosts, "h1", source()).answers[0].answer is Answer.CONFIRMED
    assert audit(hosts, "h2", destination(), grace_ms=LONG_MS).answers[0].answer is Answer.UNVERIFIED
    assert roles(hosts)[REF] == ("c1", "only", None)


@pytest.mark.parametrize("is_source", [True, False])
def test_vouched_claim_becomes_the_end_of_its_move(hosts: StorePartition, is_source: bool) -> None:
    # Given a report that the store does not believe, of the other end of a move
    if is_source:
        hosts.store.release("h1", [REF])
        report = source(ClaimRef("c1", 1), "h3")
        hosts.store.abort([NEXT])
    else:
        report = destination()
    ref = ClaimRef("c1", 3) if is_source else NEXT
    report = replace(report, attempt=ref.attempt)
    assert audit(hosts, report.host, report, grace_ms=LONG_MS).answers[0].answer is Answer.UNVERIFIED
    # When the conductor vouches for it
    assert hosts.store.vouch(report.host, [ref])[0].answer is Answer.CONFIRMED
    # Then it has its role
    expected = {ref: ("m1", "source", "m1")}
    if not is_source:
        expected = {REF: ("m1", "source", "m1"), NEXT: ("c1", "destination", "m1")}
    assert roles(hosts) == expected
    hosts.check()


def test_fenced_source_leaves_its_destination(moved: StorePartition) -> None:
    moved.store.fence("h1", "token", force=True)
    assert roles(moved) == {NEXT: ("c1", "only", None)}
    assert audit(moved, "h1", source()).answers[0].answer is Answer.FENCED


def test_moves_of_one_call_are_answered_independently(hosts: StorePartition) -> None:
    hosts.hold("c2", "h2")
    refs, migrations = [REF, ClaimRef("cx", 1), ClaimRef("c2", 1)], ["m1", "mx", "m2"]
    answers = [result.answer for result in hosts.store.begin_moves(refs, migrations)]
    assert answers == [Answer.CONFIRMED, Answer.UNKNOWN, Answer.CONFIRMED]
    answers = [result.answer for result in hosts.store.end_moves(refs, migrations)]
    assert answers == [Answer.CONFIRMED, Answer.UNKNOWN, Answer.CONFIRMED]


def test_affinity_counts_the_destination_instead_of_the_source(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h1", group=GROUP)
    begin(partition)
    assert partition.store.group_hosts("g1") == {}
    assert partition.store.prepare(partition.batch(intent("c1", "h2", attempt=2, move=("m1", 1)), group=GROUP)).accepted
    assert partition.store.group_hosts("g1") == {"h2": 1}
    partition.store.abort([NEXT])
    end(partition)
    assert partition.store.group_hosts("g1") == {"h1": 1}
    partition.check()


def test_anti_affinity_counts_the_source_until_its_end(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1", group=replace(GROUP, policy=GroupPolicy.ANTI_AFFINITY))
    begin(partition)
    assert partition.store.group_hosts("g1") == {"h1": 1}
    partition.store.release("h1", [REF])
    assert partition.store.group_hosts("g1") == {}


def test_late_attempt_of_another_move_is_a_conflict(hosts: StorePartition) -> None:
    hosts.hold("c2", "h2", attempt=4, move=("m1", 2))
    assert hosts.prepare("c2", "h3", attempt=3, move=("m2", 2)).answer is Answer.CONFLICT
    assert hosts.prepare("c2", "h3", attempt=3, move=("m1", 2)).answer is Answer.ENDED


def test_destination_of_an_ended_move_is_not_prepared(moving: StorePartition) -> None:
    end(moving)
    moving.store.release("h1", [REF])
    assert moving.prepare("c1", "h2", attempt=2, move=("m1", 1)).answer is Answer.CONFLICT


def test_prepare_waits_while_an_end_of_another_move_is_an_orphan(moved: StorePartition) -> None:
    audit(moved, "h1", grace_ms=LONG_MS)
    assert moved.prepare("c1", "h3", attempt=3, move=("m2", 2)).answer is Answer.CLOSED


def test_source_gets_no_destination_of_another_move(moving: StorePartition) -> None:
    assert moving.prepare("c1", "h2", attempt=2, move=("m2", 1)).answer is Answer.CONFLICT
    assert roles(moving) == {REF: ("m1", "source", "m1")}


def test_attempt_outside_a_move_may_replace_a_destination(hosts: StorePartition) -> None:
    hosts.prepare("c2", "h2", attempt=4, move=("m2", 2))
    assert hosts.prepare("c2", "h3", attempt=5, replaces=4).answer is Answer.PREPARED


def test_attempt_with_another_source_is_no_repetition(hosts: StorePartition) -> None:
    hosts.prepare("c2", "h2", attempt=4, move=("m2", 2))
    assert hosts.prepare("c2", "h3", attempt=4, move=("m2", 3)).answer is Answer.CONFLICT
    assert hosts.prepare("c2", "h3", attempt=5, replaces=4, move=("m2", 3)).answer is Answer.CONFLICT


def test_claim_at_the_source_of_a_move_is_of_no_other_move(hosts: StorePartition) -> None:
    hosts.new_epoch()
    assert hosts.prepare("c1", "h2", attempt=2, move=("m1", 1)).answer is Answer.CONFLICT


def test_destination_takes_no_move_of_another_source(moving: StorePartition) -> None:
    moving.new_epoch()
    false = replace(destination(ClaimRef("c1", 3), "h3"), source_attempt=2)
    assert audit(moving, "h3", false, grace_ms=LONG_MS).answers[0].answer is Answer.UNVERIFIED
    assert roles(moving)[REF] == ("m1", "source", "m1")


def test_copy_of_a_prepared_attempt_takes_no_claim_of_another_instance(hosts: StorePartition) -> None:
    victim = hosts.hold("victim", "h1")
    hosts.new_epoch()
    audit(hosts, "h2")
    assert hosts.prepare("c2", "h2", attempt=2, move=("m1", 1)).answer is Answer.PREPARED
    false = replace(destination(ClaimRef("c2", 2), "h3"), migration="victim")
    assert audit(hosts, "h3", false, grace_ms=LONG_MS).answers[0].answer is Answer.UNVERIFIED
    assert roles(hosts)[victim] == ("victim", "only", None)


def test_source_of_an_ended_move_stays_an_only_claim(moving: StorePartition) -> None:
    end(moving)
    moving.new_epoch()
    assert audit(moving, "h1", source()).answers[0].answer is Answer.CONFIRMED
    assert roles(moving) == {REF: ("c1", "only", None)}


def test_source_takes_no_claim_of_another_instance(hosts: StorePartition) -> None:
    victim = hosts.hold("victim", "h3")
    hosts.new_epoch()
    assert audit(hosts, "h1", replace(source(), migration="victim")).answers[0].answer is Answer.CONFIRMED
    assert roles(hosts) == {REF: ("c1", "only", None), victim: ("victim", "only", None)}


def test_source_of_a_later_move_ends_the_destination_of_the_earlier_one(moved: StorePartition) -> None:
    moved.new_epoch()
    assert audit(moved, "h1", replace(source(), migration="m2")).answers[0].answer is Answer.CONFIRMED
    assert roles(moved) == {REF: ("m2", "source", "m2")}


def test_source_of_a_later_move_ends_no_destination_that_its_host_reports(moved: StorePartition) -> None:
    moved.new_epoch()
    audit(moved, "h2", destination())
    assert audit(moved, "h1", replace(source(), migration="m2")).answers[0].answer is Answer.CONFIRMED
    assert roles(moved) == {REF: ("m1", "source", "m1"), NEXT: ("c1", "destination", "m1")}


def test_attempt_before_both_ends_of_a_move_is_answered_by_the_destination(hosts: StorePartition) -> None:
    begin(hosts, ref=hosts.hold("c2", "h2", attempt=2))
    hosts.hold("c2", "h3", attempt=3, move=("m1", 2))
    assert hosts.store.find([ClaimRef("c2", 1)])[0].host == "h3"


def test_forgotten_claim_that_was_never_confirmed_proves_no_earlier_end(hosts: StorePartition) -> None:
    hosts.new_epoch()
    report = running(ClaimRef("c2", 3), "h3", confirmed=False)
    assert audit(hosts, "h3", report).answers[0].answer is Answer.ABORTED
    assert audit(hosts, "h2", running(ClaimRef("c2", 2), "h2")).answers[0].answer is Answer.CONFIRMED


def test_source_of_a_move_names_no_source_of_an_earlier_one(hosts: StorePartition) -> None:
    ref = hosts.hold("c2", "h2", attempt=4, move=("m2", 2))
    assert begin(hosts, "m3", ref).answer is Answer.CONFIRMED
    (claim,) = hosts.store.claims(consumer="c2")[0]
    assert (claim.move, claim.source_attempt) == ("m3", None)


@pytest.mark.parametrize("move", [("", 1), ("m1", 0), ("m1", 2), ("m1", None)])
def test_malformed_move_of_an_intent_is_refused(hosts: StorePartition, move: tuple[str, int]) -> None:
    with pytest.raises(errors.InvalidRequest):
        hosts.prepare("c1", "h2", attempt=2, move=move)


def test_only_claim_after_a_move_names_no_source(moved: StorePartition) -> None:
    moved.store.release("h1", [REF])
    (claim,) = moved.store.claims(consumer="c1")[0]
    assert (claim.ref, claim.move, claim.source_attempt) == (NEXT, None, None)


def test_source_is_not_ended_by_an_attempt_before_its_destination(hosts: StorePartition) -> None:
    hosts.store.release("h3", [hosts.hold("c2", "h3", attempt=3)])
    assert hosts.prepare("c2", "h2", attempt=4, move=("m1", 2)).answer is Answer.PREPARED
    hosts.new_epoch()
    report = running(ClaimRef("c2", 2), "h1")
    assert audit(hosts, "h1", report, running(REF, "h1")).answers[0].answer is Answer.CONFIRMED


def test_claim_of_the_placement_api_is_no_source(make_partition: Any) -> None:
    partition = partition_with_pool(make_partition)
    accepted(partition, put("c1", disk(2)))
    partition.new_epoch()
    assert audit(partition, "h1", destination(host="h1"), grace_ms=LONG_MS).answers[0].answer is Answer.UNVERIFIED
    assert roles(partition)[REF] == ("c1", "only", None)


def test_end_of_an_attempt_without_a_claim_proves_no_earlier_one(hosts: StorePartition) -> None:
    hosts.prepare("c2", "h2", attempt=3, replaces=2)
    hosts.store.abort([ClaimRef("c3", 2)])
    hosts.store.release("h2", [ClaimRef("c4", 2)])
    assert hosts.store.find([ClaimRef("c2", 1)])[0].end is Answer.UNKNOWN
    assert [hosts.store.find([ClaimRef(name, 1)])[0].answer for name in ("c3", "c4")] == [Answer.UNKNOWN] * 2
