# SPDX-License-Identifier: Apache-2.0
"""Sizes of a partition's collections: they follow what is stored, on every backend."""

from typing import Any

from rpcapi.redis_failover.memory_usage import ALL_KEYS
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.bounded import OPTIONS
from scheduler_svc.store.records import departure_key, home_key
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition, running

NUMBER = 60


def sizes(partition: StorePartition) -> dict[str, Any]:
    return dict(partition.store.sizes())


def test_every_collection_that_has_a_bound_is_measured(partition: StorePartition) -> None:
    assert sizes(partition).keys() - {ALL_KEYS} == OPTIONS.keys()


def test_claims_become_tombstones_and_tombstones_are_removed(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": NUMBER, "MEMORY_MB": 64 * NUMBER})
    before = sizes(partition)
    refs = [partition.hold(f"c{number}", "h1") for number in range(NUMBER)]
    full = sizes(partition)
    assert (full["claims"].entries, full["tombstones"].entries) == (NUMBER, 0)
    assert full["claims"].bytes > before["claims"].bytes + 100 * NUMBER
    partition.store.release("h1", refs)
    ended = sizes(partition)
    assert (ended["claims"].entries, ended["tombstones"].entries) == (0, NUMBER)
    assert ended["claims"].bytes < full["claims"].bytes / 2
    assert ended["tombstones"].bytes > before["tombstones"].bytes + 20 * NUMBER
    partition.wait_until(partition.time() + 2 * SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=SHORT_MS)
    cleaned = sizes(partition)["tombstones"]
    assert cleaned.entries == 0
    assert cleaned.bytes < ended["tombstones"].bytes / 2


def test_pins_and_hosts_are_measured(partition: StorePartition) -> None:
    before = sizes(partition)
    for number in range(NUMBER):
        partition.store.pin(f"request-{number}", "a", SHORT_MS)
    for number in range(5):
        partition.add_host(f"h{number}", f"h{number}/n1", f"h{number}/n2")
    full = sizes(partition)
    assert (full["pins"].entries, full["hosts"].entries) == (NUMBER, 10)
    assert full["pins"].bytes > before["pins"].bytes + 20 * NUMBER
    assert full["hosts"].bytes > before["hosts"].bytes + 1000
    partition.wait_until(partition.time() + 2 * SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=LONG_MS)
    for number in range(5):
        partition.store.remove(f"h{number}")
    emptied = sizes(partition)
    assert (emptied["pins"].entries, emptied["hosts"].entries) == (0, 0)
    assert emptied["hosts"].bytes < full["hosts"].bytes


def test_documents_are_measured_over_all_namespaces(make_partition: Any) -> None:
    partition = make_partition(namespaces=["rack", "power"])
    before = sizes(partition)["documents"]
    versions = {
        namespace: [partition.store.put_state(namespace, f"h{number}", 0, {"text": "x" * 100}) for number in range(5)]
        for namespace in ("rack", "power")
    }
    full = sizes(partition)["documents"]
    assert full.entries == 10
    assert full.bytes > before.bytes + 1000
    for namespace, numbers in versions.items():
        for number, version in enumerate(numbers):
            partition.store.delete_state(namespace, f"h{number}", version)
    assert sizes(partition)["documents"].entries == 0


def test_decisions_and_log_are_measured_and_the_log_is_trimmed(partition: StorePartition) -> None:
    for number in range(20):
        partition.store.record_decision(f"req-{number}", {"text": "x" * 100})
        partition.add_host(f"h{number}")
    full = sizes(partition)
    position = partition.store.snapshot().position
    assert full["decisions"].entries == 20
    assert full["decisions"].bytes > 2000
    assert full["log"].entries > 20
    partition.store.trim_log(5)
    trimmed = sizes(partition)["log"]
    assert trimmed.entries == 5
    assert trimmed.bytes < full["log"].bytes
    assert partition.store.follow(0, 0) is None  # a gap: a worker loads a snapshot
    assert len(partition.store.follow(position - 5, 0) or ()) == 5
    partition.add_host("later")
    assert partition.store.follow(position, 0)
    partition.store.trim_log(1000)
    assert partition.prepare("c1", "later").answer is Answer.PREPARED
    assert partition.store.find([ClaimRef("c1", 1)])[0].answer is Answer.PREPARED


def test_unverified_claims_awaited_hosts_and_services_are_measured(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": NUMBER, "MEMORY_MB": 64 * NUMBER})
    before = sizes(partition)
    epoch = partition.store.snapshot().epoch
    guests = [running(ClaimRef(f"copy-{number}", 1), "h1") for number in range(NUMBER)]
    answers = partition.store.audit("h1", epoch, guests, LONG_MS).answers
    assert {result.answer for result in answers} == {Answer.UNVERIFIED}
    unverified = sizes(partition)
    assert unverified["claims"].entries == NUMBER
    assert unverified["claims"].bytes > before["claims"].bytes + 100 * NUMBER
    # Awaited hosts and other services are no entries of their own, but take bytes
    epoch = partition.new_collecting_epoch()
    partition.store.name_hosts(epoch, [f"forgotten-host-{number}" for number in range(NUMBER)], complete=False)
    awaited = sizes(partition)["hosts"]
    assert (awaited.entries, before["hosts"].entries) == (1, 1)
    assert awaited.bytes > unverified["hosts"].bytes + 15 * NUMBER
    for number in range(NUMBER):
        partition.store.heartbeat(f"other-{number}", "gantt-conductor")
    services = sizes(partition)["hosts"]
    assert services.entries == 1
    assert services.bytes > awaited.bytes + 50 * NUMBER


def test_pins_are_found_until_they_are_removed(partition: StorePartition) -> None:
    store = partition.store
    store.pin("request", "a", SHORT_MS)
    home = store.group_home("g", "a", SHORT_MS)
    store.leave_group("g", home.generation, SHORT_MS)
    keys = ("request", home_key("g"), departure_key("g"))
    assert [store.has_pin(key) for key in (*keys, "g")] == [True, True, True, False]
    partition.wait_until(partition.time() + 2 * SHORT_MS)
    store.reap(dead_after_ms=None, tombstone_ms=LONG_MS)
    assert [store.has_pin(key) for key in keys] == [False] * 3
