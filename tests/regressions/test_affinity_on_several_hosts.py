# SPDX-License-Identifier: Apache-2.0
"""An affinity group on several hosts took no further member ever, though nothing was left to wait for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.store.records import RunningClaim
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.store.store_partition import SMALL, StorePartition, intent

GROUP = ClaimGroup("g", GroupPolicy.AFFINITY)
HOSTS = ("h1", "h2", "h3")


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition of each backend, with an affinity group that has members on h1 and h2, and none on h3.

    The one on h1 is a guest that the store did not know, and that a record named.
    """
    partition = open_partition(request, tmp_path)
    for host in HOSTS:
        partition.add_host(host)
    partition.hold("m2", "h2", group=GROUP)
    audit(partition, "h1", "m1", grace_ms=0)
    assert prepare(partition, "h1") == (Verdict.CLOSED,)  # which member stays is not known yet
    partition.store.vouch("h1", [ClaimRef("m1", 1)])
    yield partition
    partition.check()
    partition.store.close()


def audit(partition: StorePartition, host: str, *consumers: str, grace_ms: int = 60_000) -> None:
    running = [RunningClaim(name, 1, True, host, {host: SMALL}, "INSTANCE", "p", "u", "r", GROUP) for name in consumers]
    partition.store.audit(host, partition.store.snapshot().epoch, running, grace_ms)


def prepare(partition: StorePartition, *hosts: str) -> tuple[Verdict, ...]:
    return tuple(partition.prepare("vm", *hosts, group=GROUP).verdicts)


def test_next_member_joins_any_of_the_hosts_and_no_other(partition: StorePartition) -> None:
    assert prepare(partition, "h3", "h1") == (Verdict.GROUP, Verdict.FITS)
    batch = partition.batch(intent("a", "h3", "h2"), intent("b", "h3", "h2"), group=GROUP)
    assert [result.host for result in partition.store.prepare(batch).prepared] == ["h2", "h2"]
    assert partition.store.group_hosts("g") == {"h1": 2, "h2": 3}


def test_it_waits_in_a_new_epoch_until_every_host_has_audited(partition: StorePartition) -> None:
    partition.new_epoch()
    for host, consumers in (("h1", ["m1"]), ("h2", ["m2"])):
        audit(partition, host, *consumers)
        assert prepare(partition, *HOSTS) == (Verdict.CLOSED,) * 3
    audit(partition, "h3")
    assert prepare(partition, "h3", "h2") == (Verdict.GROUP, Verdict.FITS)


def test_group_is_together_again_once_one_side_has_ended(partition: StorePartition) -> None:
    partition.store.release("h1", [ClaimRef("m1", 1)])
    assert prepare(partition, "h1", "h2") == (Verdict.GROUP, Verdict.FITS)


def test_last_member_may_be_replaced_anywhere(partition: StorePartition) -> None:
    for name in ("m1", "m2"):
        partition.store.release("h1" if name == "m1" else "h2", [ClaimRef(name, 1)])
    assert partition.prepare("vm", "h1", group=GROUP).answer is Answer.PREPARED
    replacement = partition.prepare("vm", "h3", attempt=2, replaces=1, group=GROUP)
    assert (replacement.answer, replacement.host) == (Answer.PREPARED, "h3")
