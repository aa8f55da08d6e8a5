# SPDX-License-Identifier: Apache-2.0
"""A PUT of allocations under a guest that runs: it took the capacity that the guest uses, which was allocated again.

No audit compared amounts, and verify found nothing.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.allocations import AllocationChange
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import SMALL, StorePartition, running

CLAIMED = {"VCPU": 1}  # what the store has of the second guest, which uses SMALL


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    created = open_partition(request, tmp_path)
    for host in ("h1", "h2"):
        created.add_host(host, amounts=SMALL)
    yield created
    created.store.close()


@pytest.mark.parametrize("allocations", [{"h2": SMALL}, {"h1": {"VCPU": 1}}], ids=["elsewhere", "less"])
def test_capacity_of_a_running_guest_is_not_allocated_again(
    partition: StorePartition, allocations: Mapping[str, Any]
) -> None:
    ref = partition.hold("c1", "h1")
    generation = partition.store.read_allocations(["c1"])["c1"].generation
    assert partition.store.allocate([AllocationChange("c1", allocations, "p", "u", generation)]) is not None
    assert (partition.used("h1"), partition.used("h2")) == (SMALL, {})
    assert partition.prepare("c2", "h1").answer is Answer.REFUSED
    partition.store.audit("h1", partition.store.snapshot().epoch, [running(ref, "h1")], 0)
    assert not partition.check().excess
    assert partition.fence("h2") == 0
    partition.store.remove("h2")


def test_audit_shows_two_guests_that_use_more_than_their_host_has(partition: StorePartition) -> None:
    partition.hold("c1", "h1", resources=CLAIMED)
    partition.hold("c2", "h1", resources={"MEMORY_MB": 64})
    guests = [running(ClaimRef(consumer, 1), "h1") for consumer in ("c1", "c2")]
    outcome = partition.store.audit("h1", partition.store.snapshot().epoch, guests, 0)
    assert [result.answer for result in outcome.answers] == [Answer.CONFIRMED, Answer.CONFIRMED]
    assert partition.used("h1") == {"VCPU": 2, "MEMORY_MB": 128}
    assert [(row["class"], row["used"], row["capacity"]) for row in partition.check().excess] == [
        ("MEMORY_MB", 128, 64),
        ("VCPU", 2, 1),
    ]
