# SPDX-License-Identifier: Apache-2.0
"""Samples of the hosts' usage, and judged claims of an observer."""

import pytest

from devstack.lab.replay import policies, report
from devstack.lab.replay.observer import ReplayObserver
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

NODES = {f"h{number}/n": node({"VCPU": 8, "MEMORY_MB": Inventory(8192)}) for number in range(4)}


class ObservedStore:
    """A store with four empty hosts, and an observer of it."""

    def __init__(self, policy="filter", log_length=1000):
        self.store = MemoryStore("p", log_length=log_length)
        hosts.join(self.store, NODES)
        self.initial = self.store.snapshot()
        self.observer = ReplayObserver(self.store, policies.load(policy), commonest=(1, 1024), every=1)

    def claim(self, host, vcpus, memory, consumer=None):
        self.prepare(host, {"VCPU": vcpus, "MEMORY_MB": memory}, consumer or f"c-{host}-{vcpus}-{memory}")
        self.observer.catch_up()
        return self.observer.sample(0)

    def prepare(self, host, amounts, *consumers):
        intents = [Intent(consumer, 1, [Candidate(host)]) for consumer in consumers]
        batch = ClaimBatch(
            "req-1", "p", "u", amounts, intents, self.initial.epoch, self.initial.position, ttl_ms=60_000
        )
        assert self.store.prepare(batch).accepted


def test_density_counts_hosts_that_are_not_empty():
    world = ObservedStore()
    empty_sample = world.observer.sample(0)
    assert (empty_sample.cpu_density, empty_sample.empty_hosts, empty_sample.fill) == (0, 4, 0)
    world.claim("h0/n", 4, 2048)
    sample = world.claim("h1/n", 8, 4096)
    assert sample.cpu_density == pytest.approx(12 / 16)
    assert sample.memory_density == pytest.approx(6144 / 16384)
    assert sample.cpu_used == sample.fill == pytest.approx(12 / 32)
    assert sample.empty_hosts == 2


def test_free_amount_beside_an_exhausted_class_is_stranded():
    world = ObservedStore()
    sample = world.claim("h0/n", 1, 8192)
    assert sample.stranded_cpu == pytest.approx(7 / 32)
    assert sample.stranded_memory == 0
    sample = world.claim("h1/n", 8, 1024)
    assert sample.stranded_memory == pytest.approx(7168 / 32768)
    # The most common server needs 1024 MB: 1000 remaining are stranded as well
    sample = world.claim("h2/n", 2, 8192 - 1000)
    assert sample.stranded_cpu == pytest.approx((7 + 6) / 32)


def test_could_take_counts_servers_over_all_hosts():
    world = ObservedStore()
    world.claim("h0/n", 8, 1024)
    assert world.observer.could_take({"VCPU": 8, "MEMORY_MB": 1}, 3)
    assert not world.observer.could_take({"VCPU": 8, "MEMORY_MB": 1}, 4)
    assert world.observer.could_take({"VCPU": 4, "MEMORY_MB": 1}, 6)
    assert not world.observer.could_take({"VCPU": 9, "MEMORY_MB": 1}, 1)


@pytest.mark.parametrize(
    ("policy", "good", "bad", "multipliers"), [("filter", "h1/n", "h0/n", 1 + 1), ("pack", "h0/n", "h1/n", 1 + 4 + 1)]
)
def test_best_choice_has_no_regret_and_worst_has_full_regret(policy, good, bad, multipliers):
    for host, has_regret in ((good, False), (bad, True)):
        # Given one host that is half full
        world = ObservedStore(policy)
        world.claim("h0/n", 4, 4096)
        # When the next server goes to it, or to an empty one
        world.claim(host, 1, 1024)
        first, second = world.observer.claims
        assert first.score == first.best_score, "all choices among equal hosts are best"
        assert (second.score < second.best_score) is has_regret
        share = report.regret(policies.load(policy).weighted, [second])
        # The server leaves 3/8 of each class of one host, and 7/8 of the other; the balance of both is equal. The scale
        # begins at -6.
        assert share == pytest.approx(1 / 7.75 / multipliers if has_regret else 0)


def test_departures_and_batches_are_not_judged():
    world = ObservedStore()
    world.claim("h0/n", 1, 1024, consumer="c-1")
    world.store.release("h0", [ClaimRef("c-1", 1)])
    intents = [Intent(f"c-{number}", 1, [Candidate(f"h{number}/n")]) for number in (2, 3)]
    amounts = {"VCPU": 1, "MEMORY_MB": 1024}
    batch = ClaimBatch("req-2", "p", "u", amounts, intents, world.initial.epoch, world.initial.position, ttl_ms=60_000)
    assert world.store.prepare(batch).accepted
    world.observer.catch_up()
    assert len(world.observer.claims) == 1


def test_log_trimmed_before_it_was_read_raises():
    # Given a store with a short log, and an observer
    world = ObservedStore(log_length=5)
    # When more entries are written than the log holds before the observer reads it
    for number in range(10):
        world.prepare("h0/n", {"MEMORY_MB": 1}, f"c-{number}")
    with pytest.raises(LookupError, match="does not reach back"):
        world.observer.catch_up()
