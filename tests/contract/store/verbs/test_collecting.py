# SPDX-License-Identifier: Apache-2.0
"""Names of hosts that the store may have forgotten: collected in a new epoch, and awaited from then on."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.validation import MAX_NAMED_HOSTS
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.support.store.store_partition import SHORT_MS, StorePartition

LOST = ClaimRef("lost", 1)


@pytest.fixture
def partition(partition: StorePartition) -> StorePartition:
    """A partition that has begun its first epoch."""
    partition.store.check_identity()
    return partition


def awaited(partition: StorePartition) -> list[str]:
    return list(partition.store.verify().awaited)


def abort(partition: StorePartition, host: str | None = None) -> Answer:
    return partition.store.abort([LOST], host)[0].answer


def test_new_partition_collects_no_names(partition: StorePartition) -> None:
    assert awaited(partition) == []
    assert partition.store.name_hosts(partition.store.snapshot().epoch, ["h1"], complete=False) is False
    assert awaited(partition) == []


def test_named_host_is_awaited_until_it_audits(partition: StorePartition) -> None:
    epoch = partition.new_collecting_epoch()
    assert partition.store.name_hosts(epoch, ["h1", "h2"], complete=False) is True
    assert partition.store.name_hosts(epoch, ["h3"], complete=True) is False
    assert awaited(partition) == ["h1", "h2", "h3"]
    partition.add_host("h1")
    assert awaited(partition) == ["h2", "h3"]


def test_attempt_is_closed_until_all_hosts_are_named_and_audited(partition: StorePartition) -> None:
    epoch = partition.new_collecting_epoch()
    assert (abort(partition), abort(partition, "h1")) == (Answer.CLOSED, Answer.CLOSED)
    partition.store.name_hosts(epoch, ["h1"], complete=True)
    assert (abort(partition), abort(partition, "h1")) == (Answer.CLOSED, Answer.CLOSED)
    assert partition.store.abort([ClaimRef("other", 1)], "h2")[0].answer is Answer.UNKNOWN
    partition.add_host("h1")
    assert abort(partition) is Answer.UNKNOWN


def test_only_the_destination_of_an_attempt_is_awaited(partition: StorePartition) -> None:
    epoch = partition.new_collecting_epoch()
    partition.add_host("h1")
    refs = [ClaimRef(f"c{number}", 1) for number in range(5)]
    destinations = ["h1", "h2", "h3", "", None]

    def answers() -> list[Answer]:
        return [result.answer for result in partition.store.abort(refs, destinations=destinations)]

    closed, unknown = Answer.CLOSED, Answer.UNKNOWN
    assert answers() == [unknown, closed, closed, unknown, closed]
    partition.store.name_hosts(epoch, ["h2"], complete=True)
    assert answers() == [unknown, closed, unknown, unknown, closed]
    partition.add_host("h2")
    assert answers() == [unknown] * 5


def test_attempt_on_an_audited_host_is_known_while_names_are_collected(partition: StorePartition) -> None:
    partition.new_collecting_epoch()
    partition.add_host("h1")
    assert abort(partition, "h1") is Answer.UNKNOWN


def test_host_that_audited_in_this_epoch_is_not_awaited_again(partition: StorePartition) -> None:
    epoch = partition.new_collecting_epoch()
    partition.add_host("h1")
    partition.store.name_hosts(epoch, ["h1"], complete=True)
    assert awaited(partition) == []


def test_names_of_another_epoch_change_nothing(partition: StorePartition) -> None:
    before = partition.new_collecting_epoch()
    partition.new_collecting_epoch()
    assert partition.store.name_hosts(before, ["h1"], complete=True) is False
    assert awaited(partition) == [UNNAMED_HOSTS]


def test_names_after_the_last_ones_change_nothing(partition: StorePartition) -> None:
    epoch = partition.new_epoch()
    assert partition.store.name_hosts(epoch, ["h1"], complete=False) is False
    assert awaited(partition) == []


def test_collection_ends_after_its_time(partition: StorePartition) -> None:
    partition.new_collecting_epoch()
    partition.store.reap(dead_after_ms=1, tombstone_ms=60_000, collect_ms=60_000)
    assert awaited(partition) == [UNNAMED_HOSTS]
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=60_000, collect_ms=SHORT_MS)
    assert awaited(partition) == []


def test_host_that_was_only_named_is_fenced_and_removed(partition: StorePartition) -> None:
    epoch = partition.new_collecting_epoch()
    partition.store.name_hosts(epoch, ["h1"], complete=True)
    with pytest.raises(errors.Conflict):
        partition.store.remove("h1")
    partition.store.fence("h1", "token-1", force=True)
    assert awaited(partition) == []
    partition.store.remove("h1")


@pytest.mark.parametrize("hosts", [["h1/n1"], ["a b"], [""], ["h"] * (MAX_NAMED_HOSTS + 1)])
def test_malformed_names_are_rejected_and_change_nothing(partition: StorePartition, hosts: list[str]) -> None:
    epoch = partition.new_collecting_epoch()
    with pytest.raises((errors.InvalidRequest, errors.InvalidName)):
        partition.store.name_hosts(epoch, hosts, complete=True)
    assert awaited(partition) == [UNNAMED_HOSTS]
