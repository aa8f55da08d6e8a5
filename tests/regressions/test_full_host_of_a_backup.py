# SPDX-License-Identifier: Apache-2.0
"""A full host after its store was restored from a backup: claims that have ended are back beside those that run.

The sums exceed the capacity until the grace of what the host does not report has passed; meanwhile nothing is added.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition, running

ONE = {"VCPU": 1}
CAPACITY = 4


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    created = open_partition(request, tmp_path)
    yield created
    created.store.close()


def audit(partition: StorePartition, refs: list[ClaimRef], grace_ms: int) -> None:
    running_claims = [running(ref, "h1", amounts=ONE) for ref in refs]
    outcome = partition.store.audit("h1", partition.store.snapshot().epoch, running_claims, grace_ms)
    assert {result.answer for result in outcome.answers} == {Answer.CONFIRMED}


def fill_again(partition: StorePartition) -> list[ClaimRef]:
    """Fill the host, back up, replace two claims, and restore; return the claims that run."""
    partition.add_host("h1", amounts={"VCPU": CAPACITY})
    refs = [partition.hold(f"old{number}", "h1", resources=ONE) for number in range(CAPACITY)]
    backup = partition.mark()
    partition.store.release("h1", refs[:2])
    refs = refs[2:] + [partition.hold(f"new{number}", "h1", resources=ONE) for number in range(2)]
    assert partition.used("h1") == {"VCPU": CAPACITY}
    partition.forget_since(backup)
    return refs


def refused(partition: StorePartition) -> None:
    """Assert that neither a new claim nor a larger next attempt on the host is accepted."""
    before = partition.used("h1")
    assert partition.prepare("more", "h1", resources=ONE).answer is Answer.REFUSED
    assert partition.prepare("old2", "h1", attempt=2, replaces=1, resources={"VCPU": 2}).answer is not Answer.PREPARED
    assert partition.used("h1") == before


def test_sums_exceed_the_capacity_only_until_the_grace_has_passed(partition: StorePartition) -> None:
    refs = fill_again(partition)
    audit(partition, refs, SHORT_MS)
    assert partition.used("h1") == {"VCPU": CAPACITY + 2}
    refused(partition)
    partition.wait_until(partition.time() + SHORT_MS)
    refused(partition)
    audit(partition, refs, SHORT_MS)
    assert partition.used("h1") == {"VCPU": CAPACITY}
    assert partition.states() == dict.fromkeys(["old2", "old3", "new0", "new1"], "confirmed")
    refused(partition)
    partition.check()


def test_nothing_is_added_while_some_of_the_excess_remains(partition: StorePartition) -> None:
    refs = fill_again(partition)
    audit(partition, refs, LONG_MS)
    # When a guest of each kind ends: one that the backup brought back looks like one that runs
    partition.store.release("h1", [refs[0]])
    assert partition.used("h1") == {"VCPU": CAPACITY + 1}
    refused(partition)
    partition.store.release("h1", refs[1:3])
    assert partition.used("h1") == {"VCPU": CAPACITY - 1}
    assert partition.prepare("more", "h1", resources=ONE).answer is Answer.PREPARED
    assert partition.prepare("another", "h1", resources=ONE).answer is Answer.REFUSED
