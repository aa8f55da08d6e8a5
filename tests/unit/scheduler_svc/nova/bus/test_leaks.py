# SPDX-License-Identifier: Apache-2.0
"""Claims that no instance of Nova uses: found, and ended."""

import pytest

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.nova.bus.leaks import end_leak, find_leaks
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories

BUILD_MS = 600_000
NODE = "@api/n1"
LIMIT = 3  # claims of a page


class LeakBench:
    """A store with a node, on a clock that the test advances; ``on_hosts`` are the instances that Nova built."""

    def __init__(self):
        self.now_ms = 1_700_000_000_000
        self.store = MemoryStore("default", clock=lambda: self.now_ms)
        self.store.change_provider(CreateProvider(NODE, "n1"))
        self.store.change_provider(SetInventories(NODE, {"VCPU": Inventory(100)}))
        self.on_hosts = set()
        self.questions = []

    def answer(self, instances):
        self.questions.append(list(instances))
        return frozenset(self.on_hosts & set(instances))

    def claim(self, *instances):
        """Claim for instances as the scheduler does for Nova."""
        now = self.store.snapshot()
        for instance in instances:
            intent = Intent(instance, 1, [Candidate(NODE)])
            batch = ClaimBatch(
                f"req-{instance}", "p", "u", {"VCPU": 1}, [intent], now.epoch, now.position, ttl_ms=1, final=True
            )
            assert self.store.prepare(batch).accepted

    def find(self):
        """Return all leaks, page by page."""
        leaks, marker = find_leaks(self.store, self.answer, BUILD_MS, None, LIMIT)
        while marker is not None:
            page, marker = find_leaks(self.store, self.answer, BUILD_MS, marker, LIMIT)
            leaks += page
        return leaks

    def put(self, consumer, allocations, generation):
        assert self.store.allocate([AllocationChange(consumer, allocations, "p", "u", generation)]) is None


@pytest.fixture
def bench():
    return LeakBench()


def test_old_claim_without_an_instance_on_a_host_is_a_leak(bench):
    bench.claim("built", "leaked")
    bench.on_hosts = {"built"}
    bench.now_ms += BUILD_MS - 1
    assert bench.find() == []
    assert bench.questions == [], "new claims need no question"
    bench.now_ms += 1
    bench.claim("new")
    (leak,) = bench.find()
    assert (leak.consumer, leak.host, leak.request_id) == ("leaked", NODE, "req-leaked")
    assert leak.allocations == {NODE: {"VCPU": 1}}


def test_claims_are_compared_page_by_page(bench):
    consumers = [f"c{number}" for number in range(8)]
    bench.claim(*consumers)
    bench.now_ms += BUILD_MS
    assert sorted(leak.consumer for leak in bench.find()) == consumers
    assert [len(question) for question in bench.questions] == [3, 3, 2]


def test_claim_that_a_client_wrote_is_no_leak(bench):
    bench.put("reserved", {NODE: {"VCPU": 1}}, None)
    bench.now_ms += BUILD_MS
    assert bench.find() == []


def test_leak_is_ended_with_all_that_it_holds(bench):
    bench.claim("leaked")
    bench.now_ms += BUILD_MS
    (leak,) = bench.find()
    assert end_leak(bench.store, leak)
    assert bench.store.read_allocations(["leaked"]) == {}
    assert not bench.store.verify().problems
    assert not end_leak(bench.store, leak)


def test_claim_that_changed_since_it_was_found_is_kept(bench):
    bench.claim("moved", "evacuated")
    bench.now_ms += BUILD_MS
    leaks = bench.find()
    bench.put("moved", {NODE: {"VCPU": 2}}, 1)
    now = bench.store.snapshot()
    intent = Intent("evacuated", 1, [Candidate(NODE)])
    bench.store.prepare(
        ClaimBatch("req-2", "p", "u", {"VCPU": 1}, [intent], now.epoch, now.position, ttl_ms=1, final=True)
    )
    assert [end_leak(bench.store, leak) for leak in leaks] == [False, False]
    assert set(bench.store.read_allocations(["moved", "evacuated"])) == {"moved", "evacuated"}
