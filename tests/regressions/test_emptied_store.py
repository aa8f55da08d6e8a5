# SPDX-License-Identifier: Apache-2.0
"""A store that comes back empty ends nothing, and has the same claims again when every host has audited."""

import pytest

from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.support.store.backends import memory_partition, redis_partition

HOSTS, PER_HOST = 100, 100
CAPACITY = {"VCPU": PER_HOST, "MEMORY_MB": 64 * PER_HOST}
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 64}


def consumers(host):
    return [f"{host}-vm{number}" for number in range(PER_HOST)]


def running_on(host):
    allocations = {host: AMOUNTS}
    return [RunningClaim(name, 1, True, host, allocations, "INSTANCE", "p", "u", "r") for name in consumers(host)]


def claims_of(partition):
    listed, marker = [], None
    while True:
        page, marker = partition.store.claims(marker=marker)
        listed += [(claim.consumer, claim.attempt, claim.state, claim.host, claim.allocations) for claim in page]
        if marker is None:
            return sorted(listed, key=str)


@pytest.fixture(params=["memory", "redis"])
def partition(request):
    """A partition that can be emptied: its ``empty`` is a copy of the data from before it had any."""
    new_partition = (
        memory_partition() if request.param == "memory" else redis_partition(request.getfixturevalue("redis_server"))
    )
    new_partition.empty = new_partition.mark()
    new_partition.store.check_identity()
    yield new_partition
    new_partition.store.close()


def test_emptied_store_has_all_10000_claims_again_when_every_host_has_audited(partition):
    # Given hosts that are full, and a worker that follows the store
    names = [f"h{number}" for number in range(HOSTS)]
    for host in names:
        partition.add_host(host, amounts=CAPACITY)
        intents = [Intent(consumer, 1, [Candidate(host)]) for consumer in consumers(host)]
        assert partition.store.prepare(partition.batch(*intents, resources=AMOUNTS)).accepted
        partition.store.confirm(host, [ClaimRef(intent.consumer, 1) for intent in intents])
    before = claims_of(partition)
    worker = Replica(partition.store)
    worker.load()

    # When the store comes back empty
    epoch = partition.forget_and_collect(partition.empty)
    worker.load()

    # Then every host is awaited, and attempts that may run are not ended
    assert sorted(partition.store.verify().awaited) == sorted([UNNAMED_HOSTS, *names])
    assert worker.collects_names
    assert partition.store.abort([ClaimRef("h5-vm5", 1)])[0].answer is Answer.CLOSED
    assert partition.store.abort([ClaimRef("h5-vm5", 1)], "h5")[0].answer is Answer.CLOSED

    # And no host is oversold while they audit, one after the other
    partition.incarnations.clear()
    for host in names:
        partition.add_host(host, amounts=CAPACITY, opened=False)
        assert tuple(partition.prepare("new", host).verdicts) == (Verdict.CLOSED,)
        partition.store.audit(host, epoch, running_on(host), 60_000)
        assert tuple(partition.prepare("new", host).verdicts) == (Verdict.FULL,)

    # And at the end the claims are those from before
    worker.name_hosts(epoch, [], complete=True)
    assert claims_of(partition) == before
    assert not partition.check().excess
    assert partition.store.verify().awaited == []
    assert partition.store.abort([ClaimRef("never", 1)])[0].answer is Answer.UNKNOWN


def test_host_that_never_returns_delays_attempts_until_it_is_fenced(partition):
    for host in ("h1", "gone"):
        partition.add_host(host)
    worker = Replica(partition.store)
    worker.load()
    epoch = partition.forget_and_collect(partition.empty)
    worker.load()
    worker.name_hosts(epoch, ["recorded"], complete=True)
    partition.incarnations.clear()
    partition.add_host("h1")
    for host in ("gone", "recorded"):
        assert partition.store.abort([ClaimRef("lost", 1)])[0].answer is Answer.CLOSED
        partition.store.fence(host, f"token-{host}", force=True)
    assert partition.store.abort([ClaimRef("lost", 1)])[0].answer is Answer.UNKNOWN


@pytest.mark.parametrize("is_fenced", [False, True])
def test_host_that_has_not_returned_is_named_again_after_a_second_loss(partition, is_fenced):
    for host in ("h1", "gone"):
        partition.add_host(host)
    worker = Replica(partition.store)
    worker.load()
    # Given a store that comes back empty, to which one of two hosts returns
    partition.forget_and_collect(partition.empty)
    worker.load()
    partition.incarnations.clear()
    partition.add_host("h1")
    if is_fenced:
        partition.store.fence("gone", "token-1")
    worker.step(0)
    # When it comes back empty once more, then the other one is awaited again, unless it was fenced
    partition.forget_and_collect(partition.empty)
    worker.load()
    assert sorted(partition.store.verify().awaited) == sorted([UNNAMED_HOSTS, "h1", *["gone"] * (not is_fenced)])
