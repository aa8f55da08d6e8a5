# SPDX-License-Identifier: Apache-2.0
"""An audit that contradicts the store ends no claim that another host reported, and stops no guest that may be right.

It was believed as a whole, or refused as a whole: a report of a later attempt ended the claim of a host that ran the
instance, and a report of an attempt that was live elsewhere stopped a guest that may have been the original.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import LONG_MS, StorePartition, running

REF = ClaimRef("c1", 1)


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition with two hosts, in which c1 runs on h1 under a confirmed claim."""
    created = open_partition(request, tmp_path)
    for host in ("h1", "h2"):
        created.add_host(host)
    created.hold("c1", "h1")
    yield created
    created.store.close()


def audit(partition: StorePartition, host: str, ref: ClaimRef) -> Answer:
    epoch = partition.store.snapshot().epoch
    (result,) = partition.store.audit(host, epoch, [running(ref, host)], LONG_MS).answers
    return result.answer


@pytest.mark.parametrize("attempt", [1, 2, 99])
@pytest.mark.parametrize("is_new_epoch", [False, True])
def test_claim_of_a_host_that_reported_it_survives_another_hosts_audit(
    partition: StorePartition, attempt: int, is_new_epoch: bool
) -> None:
    # Given that h1 has reported the claim in this epoch
    if is_new_epoch:
        partition.new_epoch()
    assert audit(partition, "h1", REF) is Answer.CONFIRMED
    # When another host reports that it runs the same, or a later attempt
    assert audit(partition, "h2", ClaimRef("c1", attempt)) is Answer.UNVERIFIED
    # Then the claim of h1 is live, and stays so for its own audits
    assert partition.store.hosts_of(["c1"]) == {"c1": "h1"}
    assert audit(partition, "h1", REF) is Answer.CONFIRMED
    partition.check()


def test_unknown_attempt_is_reasserted_outside_a_new_epoch_only_by_the_conductor(partition: StorePartition) -> None:
    ref = ClaimRef("c2", 1)
    assert audit(partition, "h2", ref) is Answer.UNVERIFIED
    assert partition.store.hosts_of(["c2"]) == {}
    assert partition.store.vouch("h2", [ref])[0].answer is Answer.CONFIRMED
    assert audit(partition, "h2", ref) is Answer.CONFIRMED
    assert partition.store.hosts_of(["c2"]) == {"c2": "h2"}
    partition.check()
