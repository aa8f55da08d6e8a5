# SPDX-License-Identifier: Apache-2.0
"""Several batches at once: prepared in turn, each as if it were alone."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import BatchAnswer, ClaimBatch, ClaimGroup
from tests.support.store.store_partition import SHORT_MS, StorePartition, intent

TWO = {"VCPU": 2, "MEMORY_MB": 128}


def batches(partition: StorePartition, *hosts: str, **options: object) -> list[ClaimBatch]:
    """Return a batch of one consumer for each of ``hosts``: c0, c1 and so on."""
    return [
        partition.batch(intent(f"c{number}", host), request_id=f"req-{number}", record={"driver": "filter"}, **options)
        for number, host in enumerate(hosts)
    ]


def answers(outcomes: list[BatchAnswer | errors.GanttError]) -> list[BatchAnswer]:
    return [outcome for outcome in outcomes if isinstance(outcome, BatchAnswer)]


def test_each_batch_conflicts_on_change_on_what_those_before_it_took(partition: StorePartition) -> None:
    partition.add_host("h1")  # of four VCPU
    outcomes = answers(partition.store.prepare_all(batches(partition, *["h1"] * 3, resources=TWO)).outcomes)
    assert [outcome.accepted for outcome in outcomes] == [True, True, False]
    assert [outcome.prepared[0].verdicts for outcome in outcomes] == [("FITS",), ("FITS",), ("CONCURRENT",)]
    assert [outcome.used["h1"]["VCPU"] for outcome in outcomes[:2]] == [2, 4]
    assert [outcome.position - outcomes[0].position for outcome in outcomes] == [0, 1, 1]
    assert sorted(partition.states()) == ["c0", "c1"]
    outcome_names = [(partition.store.find_decision(f"req-{number}") or {})["outcome"] for number in range(3)]
    assert outcome_names == ["selected", "selected", "refused"]
    partition.check()


def test_a_batch_that_is_refused_is_undone_alone(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2", amounts={"VCPU": 1, "MEMORY_MB": 1024})
    first, second = batches(partition, "h1", "h1")
    torn = partition.batch(intent("torn1", "h1"), intent("torn2", "h2"), intent("torn3", "h2"))
    outcomes = answers(partition.store.prepare_all([first, torn, second]).outcomes)
    assert [outcome.accepted for outcome in outcomes] == [True, False, True]
    assert partition.used("h1") == {"VCPU": 2, "MEMORY_MB": 128}
    partition.check()


def test_a_malformed_batch_fails_alone(partition: StorePartition) -> None:
    partition.add_host("h1")
    first, second = batches(partition, "h1", "h1")
    outcomes = partition.store.prepare_all([first, partition.batch(intent("c9", "h1"), ttl_ms=0), second]).outcomes
    assert [type(outcome) for outcome in outcomes] == [BatchAnswer, errors.InvalidRequest, BatchAnswer]
    assert sorted(partition.states()) == ["c0", "c1"]


def test_repeated_batches_get_their_recorded_answers(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    once = batches(partition, "h1", "h2")
    first, again = (answers(partition.store.prepare_all(once).outcomes) for _ in range(2))
    assert [outcome.prepared[0].host for outcome in again] == [outcome.prepared[0].host for outcome in first]
    assert len(partition.states()) == 2


def test_one_consumer_in_two_batches_gets_one_claim(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    twice = [partition.batch(intent("c1", host)) for host in ("h1", "h2")]
    assert [outcome.prepared[0].host for outcome in answers(partition.store.prepare_all(twice).outcomes)] == [
        "h1",
        "h1",
    ]
    assert partition.states() == {"c1": "prepared"}


def test_no_batch_of_a_former_epoch_is_prepared(partition: StorePartition) -> None:
    partition.add_host("h1")
    former = batches(partition, "h1", "h1")
    partition.new_epoch()
    outcomes = answers(partition.store.prepare_all(former).outcomes)
    assert [(outcome.accepted, outcome.current) for outcome in outcomes] == [(False, False)] * 2
    assert partition.states() == {}


def test_members_of_a_group_are_counted_among_the_batches(partition: StorePartition) -> None:
    for name in ("h1", "h2"):
        partition.add_host(name)
    apart = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    together = [partition.batch(intent(f"c{number}", "h1", "h2"), group=apart) for number in range(3)]
    outcomes = answers(partition.store.prepare_all(together).outcomes)
    assert [outcome.prepared[0].host for outcome in outcomes] == ["h1", "h2", None]


@pytest.mark.parametrize("expired", [1, 1200])
def test_what_is_past_its_deadline_is_ended_first(partition: StorePartition, expired: int) -> None:
    partition.add_host("h1", amounts={"VCPU": 2000, "MEMORY_MB": 200_000})
    names = [f"old{number}" for number in range(expired)]
    for start in range(0, expired, 100):
        old = [intent(name, "h1") for name in names[start : start + 100]]
        partition.store.prepare(partition.batch(*old, ttl_ms=SHORT_MS))
    partition.wait_until(partition.time() + SHORT_MS + 1)
    outcomes = answers(partition.store.prepare_all(batches(partition, "h1", "h1")).outcomes)
    assert [outcome.accepted for outcome in outcomes] == [True, True]
    assert [outcome.prepared[0].answer for outcome in outcomes] == [Answer.PREPARED] * 2
    assert sorted(partition.states()) == ["c0", "c1"]
    partition.check()


def test_no_batches_at_all(partition: StorePartition) -> None:
    assert partition.store.prepare_all([]).outcomes == []


def test_log_comes_with_the_answers_or_not_at_all(partition: StorePartition) -> None:
    partition.add_host("h1")
    before = partition.store.snapshot().position
    partition.prepare("others", "h1")
    outcomes, entries = partition.store.prepare_all(batches(partition, "h1", "h1"), before)
    assert [answer.accepted for answer in answers(outcomes)] == [True, True]
    assert entries in (None, partition.store.follow(before, 0))


def test_answers_carry_no_log_without_a_position(partition: StorePartition) -> None:
    partition.add_host("h1")
    assert partition.store.prepare_all(batches(partition, "h1", "h1")).entries is None
