# SPDX-License-Identifier: Apache-2.0
"""Audits that contradict the store: what it does not believe is unverified, and ends nothing elsewhere."""

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.support.store.store_partition import LONG_MS, ROOMY, SMALL, StorePartition, running

REF = ClaimRef("c1", 1)
NEXT = ClaimRef("c1", 2)


def audit(partition: StorePartition, *claims, host: str = "h1", grace_ms: int = LONG_MS):
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, grace_ms)


def answers(partition: StorePartition, *claims, host: str = "h1") -> list[Answer]:
    return [result.answer for result in audit(partition, *claims, host=host).answers]


def live_claims(partition: StorePartition) -> set[tuple[str, str]]:
    return {(claim.state, claim.host) for claim in partition.store.claims()[0]}


@pytest.fixture
def hosts(partition: StorePartition) -> StorePartition:
    """A partition with two hosts that have audited in this epoch."""
    partition.add_host("h1")
    partition.add_host("h2")
    return partition


def test_unknown_attempt_outside_a_new_epoch_counts_on_its_host_only(hosts: StorePartition) -> None:
    outcome = audit(hosts, running(REF, "h1"))
    assert (outcome.answers[0].answer, outcome.reasserted, outcome.again_ms) == (Answer.UNVERIFIED, 0, LONG_MS)
    assert hosts.used("h1") == SMALL
    # It is no claim of its consumer
    assert hosts.store.claims(consumer="c1") == ([], None) and hosts.store.hosts_of(["c1"]) == {}
    assert hosts.store.find([REF])[0].answer is Answer.CLOSED
    # A repeated audit, or one of the next epoch, does not count it twice
    assert answers(hosts, running(REF, "h1")) == [Answer.UNVERIFIED]
    assert hosts.used("h1") == SMALL and hosts.check().claims["unverified"] == 1


def test_its_capacity_is_not_allocated_again_and_its_excess_is_flagged(hosts: StorePartition) -> None:
    audit(hosts, running(REF, "h1", amounts=ROOMY))
    assert hosts.prepare("c2", "h1").answer is Answer.REFUSED
    audit(hosts, running(REF, "h1", amounts=ROOMY), running(ClaimRef("c3", 1), "h1"))
    assert {entry["class"] for entry in hosts.check().excess} == {"VCPU", "MEMORY_MB"}


@pytest.mark.parametrize("is_reported", [True, False], ids=["reported", "orphan"])
def test_later_attempt_ends_only_a_claim_that_its_host_does_not_report(
    hosts: StorePartition, is_reported: bool
) -> None:
    # Given a claim on h2, in a new epoch in which h2 has audited, and reported it or not
    hosts.hold("c1", "h2")
    hosts.new_epoch()
    audit(hosts, *[running(REF, "h2")] * is_reported, host="h2")
    # When the first audit of h1 reports a later attempt
    result = answers(hosts, running(NEXT, "h1"))
    # Then the claim on h2 has ended if it was an orphan; otherwise both stay
    if is_reported:
        assert result == [Answer.UNVERIFIED]
        assert live_claims(hosts) == {("confirmed", "h2"), ("unverified", "h1")}
        assert answers(hosts, running(REF, "h2"), host="h2") == [Answer.CONFIRMED]
    else:
        assert result == [Answer.CONFIRMED] and live_claims(hosts) == {("confirmed", "h1")}
    hosts.check()


@pytest.mark.parametrize("confirmed", [True, False])
def test_claim_of_this_epoch_is_not_ended_by_the_report_of_a_later_attempt(
    hosts: StorePartition, confirmed: bool
) -> None:
    hosts.hold("c1", "h2")
    expected = Answer.UNVERIFIED if confirmed else Answer.ABORTED
    assert answers(hosts, running(ClaimRef("c1", 99), "h1", confirmed=confirmed)) == [expected]
    assert ("confirmed", "h2") in live_claims(hosts)
    # And the consumer's next attempts are served once that report is over
    hosts.store.release("h2", [REF])
    audit(hosts, grace_ms=0)
    assert hosts.prepare("c1", "h2", attempt=2).answer is Answer.PREPARED
    hosts.check()


def test_attempt_that_is_live_elsewhere_is_unverified_on_each_other_host(hosts: StorePartition) -> None:
    hosts.add_host("h3")
    hosts.hold("c1", "h2")
    for host in ("h1", "h3"):
        assert answers(hosts, running(REF, host), host=host) == [Answer.UNVERIFIED]
    assert live_claims(hosts) == {("confirmed", "h2"), ("unverified", "h1"), ("unverified", "h3")}
    assert answers(hosts, running(REF, "h2"), host="h2") == [Answer.CONFIRMED]
    assert answers(hosts, running(REF, "h1", confirmed=False)) == [Answer.CONFLICT]
    hosts.check()


def test_vouched_claim_becomes_its_consumers(hosts: StorePartition) -> None:
    audit(hosts, running(REF, "h1"))
    result = hosts.store.vouch("h1", [REF])[0]
    assert (result.answer, result.host) == (Answer.CONFIRMED, "h1")
    assert hosts.states() == {"c1": "confirmed"} and hosts.used("h1") == SMALL
    # Vouching again, the audit and the release find it as any other claim
    assert hosts.store.vouch("h1", [REF])[0].answer is Answer.CONFIRMED
    assert answers(hosts, running(REF, "h1")) == [Answer.CONFIRMED]
    hosts.store.release("h1", [REF])
    assert hosts.used("h1") == {} and hosts.store.find([REF])[0].answer is Answer.RELEASED
    hosts.check()


def test_vouching_ends_no_claim_that_its_host_reports(hosts: StorePartition) -> None:
    hosts.hold("c1", "h2")
    audit(hosts, running(NEXT, "h1"))
    assert hosts.store.vouch("h1", [NEXT])[0].answer is Answer.CONFLICT
    # An orphan of an earlier attempt may end
    audit(hosts, host="h2")
    assert hosts.store.vouch("h1", [NEXT])[0].answer is Answer.CONFIRMED
    assert live_claims(hosts) == {("confirmed", "h1")}
    hosts.check()


def test_vouching_needs_an_unverified_claim_on_that_host(hosts: StorePartition) -> None:
    assert hosts.store.vouch("h1", [REF])[0].answer is Answer.UNKNOWN
    audit(hosts, running(REF, "h1"))
    assert hosts.store.vouch("h2", [REF])[0].answer is Answer.UNKNOWN
    hosts.store.abort([REF])
    hosts.store.release("h2", [REF])
    assert hosts.store.vouch("h1", [ClaimRef("c2", 1)])[0].answer is Answer.UNKNOWN


@pytest.mark.parametrize("end", ["release", "unreported", "fence", "ended", "new epoch"])
def test_unverified_claim_ends_with_its_guest_or_its_doubt(hosts: StorePartition, end: str) -> None:
    audit(hosts, running(REF, "h1"))
    if end == "release":
        assert hosts.store.release("h1", [REF])[0].answer is Answer.RELEASED
    elif end == "unreported":
        # As an orphan it ends after the grace, unless it is reported again
        assert audit(hosts).orphans == 1
        assert audit(hosts, running(REF, "h1"), grace_ms=0).orphans == 0
        assert audit(hosts).again_ms == LONG_MS
        assert audit(hosts, grace_ms=0).released == 1
    elif end == "fence":
        assert hosts.fence("h1") == 1
    elif end == "ended":
        # It counts until its guest has stopped
        hosts.store.abort([REF])
        outcome = audit(hosts, running(REF, "h1"))
        assert (outcome.answers[0].answer, outcome.again_ms) == (Answer.ABORTED, LONG_MS)
        assert hosts.used("h1") == SMALL
        audit(hosts)
    else:
        # In the first audit of an epoch the host is believed
        hosts.new_epoch()
        assert answers(hosts, running(REF, "h1")) == [Answer.CONFIRMED]
    assert hosts.used("h1") == (SMALL if end == "new epoch" else {})
    assert "unverified" not in hosts.check().claims


def test_unverified_claim_of_a_fenced_host_has_ended_when_it_returns(hosts: StorePartition) -> None:
    hosts.fence("h1")
    assert answers(hosts, running(REF, "h1")) == [Answer.FENCED]
    hosts.check()


def test_unverified_claims_are_listed_in_pages(hosts: StorePartition) -> None:
    audit(hosts, *(running(ClaimRef(f"c{number}", 1), "h1") for number in range(3)))
    hosts.hold("c9", "h2")
    states, marker = [], None
    while True:
        page, marker = hosts.store.claims(marker=marker, limit=1)
        states += [claim.state for claim in page]
        if marker is None:
            break
    assert sorted(states) == ["confirmed", "unverified", "unverified", "unverified"]


@pytest.mark.parametrize("attempt", [1, 2], ids=["same attempt", "later attempt"])
def test_first_audit_of_an_epoch_prevails_over_a_claim_that_is_only_prepared(
    hosts: StorePartition, attempt: int
) -> None:
    # Given an attempt on h1 that a failover forgot, and the same or an earlier one prepared on h2 before h1 audits
    ref = ClaimRef("c1", attempt)
    hosts.new_epoch()
    audit(hosts, host="h2")
    forgotten = running(ref, "h1")
    assert hosts.prepare("c1", "h2").answer is Answer.PREPARED
    # When h1 audits: then its guest keeps its claim, and the other host does not build a second copy
    assert answers(hosts, forgotten) == [Answer.CONFIRMED]
    assert live_claims(hosts) == {("confirmed", "h1")}
    expected = Answer.FOREIGN if attempt == 1 else Answer.ABORTED
    assert hosts.store.confirm("h2", [REF])[0].answer is expected
    assert hosts.store.find([ref])[0].answer is Answer.CONFIRMED
    hosts.store.release("h1", [ref])
    assert hosts.store.find([ref])[0].answer is Answer.RELEASED
    assert hosts.used("h1") == hosts.used("h2") == {}
    hosts.check()


def test_claim_prepared_in_this_epoch_is_confirmed_once_no_other_host_reports_a_copy(hosts: StorePartition) -> None:
    hosts.prepare("c1", "h2")
    assert answers(hosts, running(REF, "h1")) == [Answer.UNVERIFIED]
    assert live_claims(hosts) == {("prepared", "h2"), ("unverified", "h1")}
    assert hosts.store.confirm("h2", [REF])[0].answer is Answer.CLOSED
    assert hosts.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    audit(hosts, grace_ms=0)
    assert hosts.store.confirm("h2", [REF])[0].answer is Answer.CONFIRMED
    hosts.check()


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize(("attempt", "replaces"), [(1, None), (2, None), (2, 1), (3, 2)])
@pytest.mark.parametrize("end", ["unreported", "release", "fence", "stopped"])
def test_no_attempt_is_prepared_while_a_host_reports_an_unverified_one(
    hosts: StorePartition, fresh: bool, attempt: int, replaces: int | None, end: str
) -> None:
    # Given an attempt that h1 runs, and that the store does not know although it forgot nothing that it knows of
    audit(hosts, running(REF, "h1"))

    def prepare(host: str) -> Answer:
        return hosts.prepare("c1", host, attempt=attempt, replaces=replaces, fresh=fresh).answer

    # Then neither this attempt nor another of its consumer is prepared or moved, on any host
    before = hosts.store.snapshot()
    assert prepare("h1") is prepare("h2") is Answer.CLOSED
    assert hosts.store.find([ClaimRef("c1", attempt)])[0].answer is Answer.CLOSED
    assert hosts.store.begin_moves([ClaimRef("c1", attempt)], ["c9"])[0].answer is Answer.CLOSED
    assert hosts.store.snapshot() == before
    # And other consumers' attempts are
    assert hosts.prepare("c", "h2", fresh=fresh).answer is Answer.PREPARED
    # When the guest is gone, whatever shows it: then the attempt is decided as if it had not been
    if end == "unreported":
        audit(hosts, grace_ms=0)
    elif end == "release":
        hosts.store.release("h1", [REF])
    elif end == "fence":
        hosts.fence("h1")
    else:
        hosts.store.abort([REF])
        assert answers(hosts, running(REF, "h1")) == [Answer.ABORTED]
        assert prepare("h2") is (Answer.ENDED if attempt == 1 else Answer.CLOSED)
        audit(hosts)
    expected = Answer.ENDED if end == "stopped" and attempt == 1 else Answer.PREPARED
    assert prepare("h2") is expected
    hosts.check()


def test_each_host_that_reports_one_closes_its_consumer(hosts: StorePartition) -> None:
    audit(hosts, running(REF, "h1"))
    audit(hosts, running(NEXT, "h2"), host="h2")
    for host in ("h1", "h2"):
        assert hosts.prepare("c1", "h2", attempt=3).answer is Answer.CLOSED
        audit(hosts, host=host, grace_ms=0)
    assert hosts.prepare("c1", "h2", attempt=3).answer is Answer.PREPARED
    hosts.check()


def test_released_copy_ends_while_the_same_attempt_is_live_elsewhere(hosts: StorePartition) -> None:
    hosts.hold("c1", "h2")
    audit(hosts, running(REF, "h1"))
    assert hosts.store.release("h1", [REF])[0].answer is Answer.FOREIGN
    assert live_claims(hosts) == {("confirmed", "h2")}
    hosts.check()


def test_live_claim_is_found_and_repeated_beside_an_unverified_one(hosts: StorePartition) -> None:
    hosts.hold("c1", "h2")
    audit(hosts, running(REF, "h1"))
    assert hosts.store.find([REF])[0].answer is Answer.CONFIRMED
    assert hosts.prepare("c1", "h2").host == "h2"
    assert hosts.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CONFIRMED
    assert hosts.store.confirm("h2", [REF])[0].answer is Answer.CONFIRMED
    # Its release ends it; the next attempt waits for the copy
    hosts.store.release("h2", [REF])
    assert hosts.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    hosts.check()
