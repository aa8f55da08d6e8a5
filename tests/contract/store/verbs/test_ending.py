# SPDX-License-Identifier: Apache-2.0
"""Confirm, abort, release and move: answers and idempotency."""

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef, ClaimResult
from tests.support.store.store_partition import SHORT_MS, StorePartition, intent

REF = ClaimRef("c1", 1)


def answers(results: list[ClaimResult]) -> list[Answer]:
    return [result.answer for result in results]


def test_confirm_is_idempotent(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1")
    partition.prepare("c1", "h1/n1")
    for _ in range(2):
        assert partition.store.confirm("h1", [REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1/n1")]
    assert partition.states() == {"c1": "confirmed"}
    assert partition.store.claims()[0][0].generation == 2
    partition.check()


def test_confirm_of_unknown_ended_and_foreign_claims(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.prepare("c1", "h1")
    assert answers(partition.store.confirm("h1", [ClaimRef("c2", 1), ClaimRef("c1", 2)])) == [
        Answer.UNKNOWN,
        Answer.UNKNOWN,
    ]
    assert answers(partition.store.confirm("h2", [REF])) == [Answer.FOREIGN]
    assert partition.states() == {"c1": "prepared"}


def test_expired_claim_is_refused_by_confirm(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    for _ in range(2):
        assert answers(partition.store.confirm("h1", [REF])) == [Answer.EXPIRED]
    assert partition.used("h1") == {}
    partition.check()


def test_confirmed_claim_has_no_deadline(partition: StorePartition) -> None:
    partition.add_host("h1")
    # Long enough to confirm in time on a busy machine
    prepared = partition.prepare("c1", "h1", ttl_ms=20 * SHORT_MS)
    assert answers(partition.store.confirm("h1", [REF])) == [Answer.CONFIRMED]
    partition.pass_deadline(prepared)
    partition.store.reap(dead_after_ms=60_000, tombstone_ms=60_000)
    assert partition.states() == {"c1": "confirmed"}


def test_abort_is_idempotent(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    for _ in range(2):
        assert answers(partition.store.abort([REF])) == [Answer.ABORTED]
    assert answers(partition.store.confirm("h1", [REF])) == [Answer.ABORTED]
    assert partition.used("h1") == {}
    partition.check()


def test_confirmed_claim_is_not_aborted(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    assert partition.store.abort([REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1")]
    assert partition.states() == {"c1": "confirmed"}


def test_abort_by_another_host_is_foreign(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    assert answers(partition.store.abort([REF], host="h2")) == [Answer.FOREIGN]
    assert answers(partition.store.abort([REF], host="h1")) == [Answer.ABORTED]


def test_abort_of_an_unknown_claim_stores_a_tombstone(partition: StorePartition) -> None:
    partition.add_host("h1")
    delayed = partition.batch(intent("c1", "h1"))
    for _ in range(2):
        assert answers(partition.store.abort([REF])) == [Answer.UNKNOWN]
    assert partition.store.prepare(delayed).prepared[0].answer is Answer.ENDED
    assert answers(partition.store.confirm("h1", [REF])) == [Answer.UNKNOWN]


def test_release_is_idempotent(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    assert answers(partition.store.release("h2", [REF])) == [Answer.FOREIGN]
    for _ in range(2):
        assert answers(partition.store.release("h1", [REF])) == [Answer.RELEASED]
    assert partition.used("h1") == {}
    assert answers(partition.store.confirm("h1", [REF])) == [Answer.RELEASED]
    partition.check()


def test_release_of_a_prepared_claim(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    assert answers(partition.store.release("h1", [REF])) == [Answer.RELEASED]
    partition.check()


def test_release_of_an_unknown_claim_stores_a_tombstone(partition: StorePartition) -> None:
    partition.add_host("h1")
    delayed = partition.batch(intent("c1", "h1"))
    for _ in range(2):
        assert answers(partition.store.release("h1", [REF])) == [Answer.RELEASED]
    assert partition.store.prepare(delayed).prepared[0].answer is Answer.ENDED


def test_release_of_an_ended_claim_returns_its_end(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.store.abort([REF])
    assert answers(partition.store.release("h1", [REF])) == [Answer.ABORTED]


def test_claims_of_one_call_are_answered_independently(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.prepare("c2", "h1")
    results = partition.store.confirm("h1", [REF, ClaimRef("cx", 1), ClaimRef("c2", 1)])
    assert answers(results) == [Answer.CONFIRMED, Answer.UNKNOWN, Answer.CONFIRMED]


def test_find_answers_the_state_end_or_place_of_each_claim(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 10, "MEMORY_MB": 1024})
    partition.prepare("c1", "h1")
    partition.hold("c2", "h1")
    partition.prepare("c3", "h1")
    partition.store.abort([ClaimRef("c3", 1)])
    partition.hold("c4", "h1", attempt=2)
    partition.hold("c5", "h1")
    partition.store.release("h1", [ClaimRef("c5", 1)])
    partition.hold("c5", "h1", attempt=2)
    partition.store.abort([ClaimRef("c7", 1)])
    late = partition.prepare("c8", "h1", ttl_ms=SHORT_MS)
    partition.pass_deadline(late)
    refs = [*(ClaimRef(f"c{number}", 1) for number in range(1, 9)), ClaimRef("c4", 3)]
    assert [(result.consumer, str(result.answer), result.host) for result in partition.store.find(refs)] == [
        ("c1", "prepared", "h1"),
        ("c2", "confirmed", "h1"),
        ("c3", "aborted", None),
        ("c4", "conflict", "h1"),
        ("c5", "conflict", "h1"),
        ("c6", "unknown", None),
        ("c7", "unknown", None),
        ("c8", "expired", None),
        ("c4", "unknown", None),
    ]
    # In a new epoch an unknown claim may be one that the store forgot
    partition.new_epoch()
    assert [str(result.answer) for result in partition.store.find([ClaimRef("c2", 1), ClaimRef("c6", 1)])] == [
        "confirmed",
        "closed",
    ]
    partition.check()
