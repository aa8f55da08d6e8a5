# SPDX-License-Identifier: Apache-2.0
"""A fence holds for what the store forgot too: an instance ran twice after it, and its host was awaited again.

A failover forgot the claim of an instance. Its host was fenced, so its attempt was served elsewhere. When the host
returned, its copy was counted as unverified and kept running.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import LONG_MS, StorePartition, running

REF = ClaimRef("vm", 1)


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition with two audited hosts."""
    created = open_partition(request, tmp_path)
    for host in ("lost", "other"):
        created.add_host(host)
    yield created
    created.store.close()


def audit(partition: StorePartition, host: str, *refs: ClaimRef) -> list[Answer]:
    epoch = partition.store.snapshot().epoch
    outcome = partition.store.audit(host, epoch, [running(ref, host) for ref in refs], LONG_MS)
    return [result.answer for result in outcome.answers]


def forget_boot(partition: StorePartition) -> int:
    """Boot the instance on the host that is lost then, and forget that; return the new epoch."""
    mark = partition.mark()
    assert partition.hold("vm", "lost") == REF
    epoch = partition.forget_and_collect(mark)
    assert audit(partition, "other") == []
    return epoch


@pytest.mark.parametrize("epochs_later", [0, 1])
def test_fenced_host_does_not_keep_a_copy_of_what_was_served_elsewhere(
    partition: StorePartition, epochs_later: int
) -> None:
    # Given an attempt that waits for its host
    epoch = forget_boot(partition)
    partition.store.name_hosts(epoch, [], complete=True)
    assert partition.prepare("vm", "other", fresh=False).answer is Answer.CLOSED
    # When the host is fenced, then it is served elsewhere
    partition.fence("lost")
    assert partition.prepare("vm", "other", fresh=False).answer is Answer.PREPARED
    partition.store.confirm("other", [REF])
    # And when the host returns, perhaps after another failover, then its copy stops
    for _ in range(epochs_later):
        partition.new_epoch()
    assert audit(partition, "lost", REF) == [Answer.FENCED]
    assert partition.store.hosts_of(["vm"]) == {"vm": "other"}
    assert audit(partition, "other", REF) == [Answer.CONFIRMED]
    partition.check()


def test_fenced_host_is_not_awaited_again_because_a_worker_names_it_late(partition: StorePartition) -> None:
    epoch = forget_boot(partition)
    partition.fence("lost")
    partition.store.name_hosts(epoch, ["lost", "other"], complete=True)
    assert partition.store.verify().awaited == []


def test_host_is_believed_if_the_store_forgot_that_it_returned_after_a_fence(partition: StorePartition) -> None:
    # Given a host that was fenced, has returned, and took an instance
    partition.fence("lost")
    mark = partition.mark()
    assert audit(partition, "lost") == []
    assert partition.hold("vm", "lost") == REF
    # When the store forgets all since the fence, then the host is awaited when it is named
    epoch = partition.forget_and_collect(mark)
    partition.store.name_hosts(epoch, ["lost", "other"], complete=True)
    assert audit(partition, "other") == []
    assert partition.prepare("vm", "other", fresh=False).answer is Answer.CLOSED
    # And its instance has its claim again, although the fence is all that the store knew
    assert audit(partition, "lost", REF) == [Answer.CONFIRMED]
    assert partition.prepare("vm", "other", fresh=False).host == "lost"
    partition.check()
