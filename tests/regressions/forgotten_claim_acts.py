# SPDX-License-Identifier: Apache-2.0
"""Acts on claims and fences that a failover forgets, and what the store shows then.

Each is a generator in three parts: what is kept; the act, which is forgotten; what follows.
"""

from collections.abc import Iterator
from dataclasses import replace

from rpcapi.resources.claims import Answer, ClaimRole
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from tests.regressions.forgetful_stores import ForgetfulStores
from tests.support.store.store_partition import LONG_MS, SMALL, StorePartition, running

MIGRATION = "m1"


def audit(partition: StorePartition, host: str, *claims: RunningClaim, grace_ms: int = 0) -> AuditOutcome:
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, grace_ms)


def begin_move(partition: StorePartition, ref: ClaimRef) -> Answer:
    return partition.store.begin_moves([ref], [MIGRATION])[0].answer


def running_end(ref: ClaimRef, host: str, role: ClaimRole) -> RunningClaim:
    """Return an audit's entry for one end of the move."""
    source_attempt = ref.attempt - 1 if role is ClaimRole.DESTINATION else None
    return replace(running(ref, host), role=role, migration=MIGRATION, source_attempt=source_attempt)


def roles(partition: StorePartition) -> dict[ClaimRef, str]:
    """Return the role of every live claim."""
    return {claim.ref: claim.role.value for claim in partition.store.claims()[0]}


def full(stores: ForgetfulStores) -> tuple[StorePartition, ClaimRef]:
    """Return a partition with a host h1 that one claim of c1 fills, and the claim."""
    partition = stores.partition()
    partition.add_host("h1", amounts=SMALL)
    return partition, partition.hold("c1", "h1")


def release_ends_with_the_next_audits(stores: ForgetfulStores) -> Iterator[None]:
    partition, ref = full(stores)
    yield
    partition.store.release("h1", [ref])
    yield
    # The claim is back, and nothing else gets its capacity before its host has audited
    assert partition.states() == {"c1": "confirmed"}
    assert partition.prepare("c2", "h1").answer is Answer.REFUSED
    # When the host's audits report nothing, then the claim is an orphan first, and then ends
    assert audit(partition, "h1", grace_ms=LONG_MS).orphans == 1
    assert partition.states() == {"c1": "confirmed"}
    assert audit(partition, "h1").released == 1
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    partition.check()


def repeated_release(stores: ForgetfulStores) -> Iterator[None]:
    partition, ref = full(stores)
    yield
    partition.store.release("h1", [ref])
    yield
    assert partition.store.release("h1", [ref])[0].answer is Answer.RELEASED
    assert partition.states() == {}
    partition.check()


def life_leaves_nothing(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    partition.add_host("h1", amounts=SMALL)
    yield
    ref = partition.hold("c1", "h1")
    partition.store.release("h1", [ref])
    yield
    # When it is ended again, then the store does not say that it ended before its host has audited
    assert partition.store.abort([ref])[0].answer is Answer.CLOSED
    audit(partition, "h1")
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    partition.check()


def life_is_unknown_after_the_audit(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    partition.add_host("h1", amounts=SMALL)
    yield
    ref = partition.hold("c1", "h1")
    partition.store.release("h1", [ref])
    yield
    audit(partition, "h1")
    assert partition.store.abort([ref])[0].answer is Answer.UNKNOWN
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    partition.check()


def abort_does_not_outlast_its_deadline(stores: ForgetfulStores) -> Iterator[None]:
    # Given the claim of an instance that is deleted
    partition = stores.partition()
    partition.add_host("h1", amounts=SMALL)
    ref = ClaimRef("c1", partition.prepare("c1", "h1").attempt)
    yield
    partition.store.abort([ref])
    yield
    # When its deadline passes, then its build message starts nothing, and its capacity is free
    partition.pass_deadline_of("c1")
    assert partition.store.confirm("h1", [ref])[0].answer is not Answer.CONFIRMED
    audit(partition, "h1")
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    partition.check()


def abort_within_its_deadline(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    partition.add_host("h1", amounts=SMALL)
    ref = ClaimRef("c1", partition.prepare("c1", "h1").attempt)
    yield
    partition.store.abort([ref])
    yield
    # When its late build message arrives, then nothing starts before its host has audited, nor after that
    assert partition.store.confirm("h1", [ref])[0].answer is Answer.CLOSED
    audit(partition, "h1")
    assert partition.store.confirm("h1", [ref])[0].answer is Answer.ABORTED
    partition.check()


def boot_is_not_repeated_elsewhere(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    for host in ("h1", "h2"):
        partition.add_host(host, amounts=SMALL)
    yield
    ref = partition.hold("c1", "h1")
    yield
    # The attempt, which may run, is closed on any host until its own has audited; another instance is served
    audit(partition, "h2")
    assert partition.store.find([ref])[0].answer is Answer.CLOSED
    assert partition.prepare("c1", "h2", fresh=False).answer is Answer.CLOSED
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    assert partition.prepare("c2", "h2").answer is Answer.PREPARED
    assert audit(partition, "h1", running(ref, "h1")).answers[0].answer is Answer.CONFIRMED
    assert partition.prepare("c1", "h2", fresh=False).host == "h1"
    partition.check()


def confirmation(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    for host in ("h1", "h2"):
        partition.add_host(host, amounts=SMALL)
    ref = ClaimRef("c1", partition.prepare("c1", "h1").attempt)
    yield
    partition.store.confirm("h1", [ref])
    yield
    # Its guest may run: neither an abort nor the deadline ends the claim before its host has audited
    audit(partition, "h2")
    assert partition.store.abort([ref])[0].answer is Answer.CLOSED
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    partition.pass_deadline_of("c1")
    assert partition.prepare("c1", "h2", fresh=False).answer is Answer.CLOSED
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    assert audit(partition, "h1", running(ref, "h1")).answers[0].answer is Answer.CONFIRMED
    assert partition.states() == {"c1": "confirmed"}
    partition.check()


def replacement(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    for host in ("h1", "h2"):
        partition.add_host(host, amounts=SMALL)
    first = ClaimRef("c1", partition.prepare("c1", "h1").attempt)
    yield
    later = partition.hold("c1", "h2", attempt=2, replaces=1)
    yield
    # The first attempt, whose claim is back, starts nothing, and the later one is found
    assert partition.store.confirm("h1", [first])[0].answer is Answer.CLOSED
    assert audit(partition, "h2", running(later, "h2")).answers[0].answer is Answer.CONFIRMED
    assert partition.store.confirm("h1", [first])[0].answer is Answer.ABORTED
    audit(partition, "h1")
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).host == "h2"
    assert partition.states() == {"c1": "confirmed"}
    partition.check()


def vouched_claim(stores: ForgetfulStores) -> Iterator[None]:
    # Given an attempt that a host reports, of which the store, which forgot nothing, knows nothing
    partition, ref = stores.partition(), ClaimRef("c1", 1)
    partition.add_host("h1", amounts=SMALL)
    assert audit(partition, "h1", running(ref, "h1")).answers[0].answer is Answer.UNVERIFIED
    yield
    assert partition.store.vouch("h1", [ref])[0].answer is Answer.CONFIRMED
    yield
    # It is the instance's claim again with its host's audit, and counts once
    assert audit(partition, "h1", running(ref, "h1")).answers[0].answer is Answer.CONFIRMED
    assert (partition.states(), partition.used("h1")) == ({"c1": "confirmed"}, SMALL)
    partition.check()


def begin_of_a_move_can_be_repeated(stores: ForgetfulStores) -> Iterator[None]:
    partition, ref = full(stores)
    yield
    begin_move(partition, ref)
    yield
    # The claim is the only one of its instance again, and its sums are the same
    assert (roles(partition), partition.used("h1")) == ({ref: "only"}, SMALL)
    # When the begin is repeated, then the claim is the source
    assert begin_move(partition, ref) is Answer.CONFIRMED
    assert (roles(partition), partition.used("h1")) == ({ref: "source"}, SMALL)
    partition.check()


def begin_of_a_move_that_the_host_knows(stores: ForgetfulStores) -> Iterator[None]:
    partition, ref = full(stores)
    yield
    begin_move(partition, ref)
    yield
    # When the host reports its role, then the claim has that role again: it is one claim, and counts once
    outcome = audit(partition, "h1", running_end(ref, "h1", ClaimRole.SOURCE), grace_ms=LONG_MS)
    assert (outcome.answers[0].answer, outcome.released, outcome.orphans) == (Answer.CONFIRMED, 0, 0)
    assert (roles(partition), partition.used("h1")) == ({ref: "source"}, SMALL)
    assert partition.prepare("c2", "h1").answer is Answer.REFUSED
    partition.check()


def begin_of_a_move_that_nobody_knows(stores: ForgetfulStores) -> Iterator[None]:
    partition, ref = full(stores)
    partition.add_host("h2", amounts=SMALL)
    yield
    begin_move(partition, ref)
    later = partition.hold("c1", "h2", attempt=2)
    yield
    # When the destination audits before its source, whose agent got no message, then no guest is ended
    later_end = running_end(later, "h2", ClaimRole.DESTINATION)
    assert audit(partition, "h2", later_end).answers[0].answer is Answer.CONFIRMED
    assert audit(partition, "h1", running(ref, "h1")).answers[0].answer is Answer.CONFIRMED
    assert roles(partition) == {ref: "source", later: "destination"}
    assert (partition.used("h1"), partition.used("h2")) == (SMALL, SMALL)
    partition.check()


def move_with_its_claims(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    for host in ("h1", "h2"):
        partition.add_host(host, amounts=SMALL)
    yield
    ref = partition.hold("c1", "h1")
    begin_move(partition, ref)
    later = partition.hold("c1", "h2", attempt=2)
    yield
    # When both hosts report what they have, then both claims are the ends of the move again
    assert audit(partition, "h1", running_end(ref, "h1", ClaimRole.SOURCE)).answers[0].answer is Answer.CONFIRMED
    assert audit(partition, "h2", running_end(later, "h2", ClaimRole.DESTINATION)).answers[0].answer is Answer.CONFIRMED
    assert roles(partition) == {ref: "source", later: "destination"}
    assert (partition.used("h1"), partition.used("h2")) == (SMALL, SMALL)
    partition.check()


def end_of_a_move(stores: ForgetfulStores) -> Iterator[None]:
    partition, ref = full(stores)
    begin_move(partition, ref)
    yield
    partition.store.end_moves([ref], [MIGRATION])
    yield
    # The claim is the source again; when its host has audited, then it can be the only one again
    assert roles(partition) == {ref: "source"}
    assert audit(partition, "h1", running(ref, "h1")).answers[0].answer is Answer.CONFIRMED
    assert partition.store.end_moves([ref], [MIGRATION])[0].answer is Answer.CONFIRMED
    assert (roles(partition), partition.used("h1")) == ({ref: "only"}, SMALL)
    # And a late begin of the same move changes nothing
    assert begin_move(partition, ref) is Answer.ENDED
    assert roles(partition) == {ref: "only"}
    partition.check()


def fence(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    for host in ("h1", "dead"):
        partition.add_host(host)
    ref = partition.hold("c1", "dead")
    yield
    assert partition.store.fence("dead", "token-1", force=True) == 1
    yield
    audit(partition, "h1")
    # The claim is back and its host is awaited: no other host takes the instance
    assert (partition.states(), list(partition.store.verify().awaited)) == ({"c1": "confirmed"}, ["dead"])
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.CONFIRMED
    # And the same call fences the host again
    assert partition.store.fence("dead", "token-1", force=True) == 1
    assert partition.store.find([ref])[0].answer is Answer.FENCED
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    partition.check()


def fence_whose_instance_was_served_elsewhere(stores: ForgetfulStores) -> Iterator[None]:
    partition = stores.partition()
    for host in ("h1", "dead"):
        partition.add_host(host)
    old = partition.hold("c1", "dead")
    yield
    partition.store.fence("dead", "token-1", force=True)
    later = partition.hold("c1", "h1", attempt=2, replaces=1)
    yield
    # The instance's later attempt, which runs, is reported: it is the claim, and the fenced host's guest ends there
    assert audit(partition, "h1", running(later, "h1")).answers[0].answer is Answer.CONFIRMED
    assert [(claim.attempt, claim.host) for claim in partition.store.claims()[0]] == [(2, "h1")]
    assert audit(partition, "dead", running(old, "dead")).answers[0].answer not in (Answer.CONFIRMED, Answer.PREPARED)
    assert [(claim.attempt, claim.host) for claim in partition.store.claims()[0]] == [(2, "h1")]
    partition.check()


ACTS = (
    release_ends_with_the_next_audits,
    repeated_release,
    life_leaves_nothing,
    life_is_unknown_after_the_audit,
    abort_does_not_outlast_its_deadline,
    abort_within_its_deadline,
    boot_is_not_repeated_elsewhere,
    confirmation,
    replacement,
    vouched_claim,
    begin_of_a_move_can_be_repeated,
    begin_of_a_move_that_the_host_knows,
    begin_of_a_move_that_nobody_knows,
    move_with_its_claims,
    end_of_a_move,
    fence,
    fence_whose_instance_was_served_elsewhere,
)
