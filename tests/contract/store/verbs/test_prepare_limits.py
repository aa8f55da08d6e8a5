# SPDX-License-Identifier: Apache-2.0
"""The number of claims on a node, which a candidate may limit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rpcapi.resources.claims import Answer, Verdict
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimLimits, ClaimRef, Intent
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories
from tests.support.store.store_partition import SMALL, StorePartition, child_stats, intent, node_stats

LIMIT = 2
API_NODE = "@api/n1"


def limited(consumer: str, *hosts: str, limit: int = LIMIT, **options: Any) -> Intent:
    candidates = [Candidate(host, limits=ClaimLimits(limit)) for host in hosts]
    return replace(intent(consumer, *hosts, **options), candidates=candidates)


def verdicts(partition: StorePartition, *intents: Intent, **options: Any) -> list[Sequence[Verdict]]:
    """Prepare a batch; return the verdicts on each intent's candidates."""
    answer = partition.store.prepare(partition.batch(*intents, **options))
    partition.check()
    return [tuple(result.verdicts) for result in answer.prepared]


def test_claim_beyond_the_limit_takes_the_next_host(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    for number in range(LIMIT):
        assert verdicts(partition, limited(f"c{number}", "h1")) == [(Verdict.FITS,)]
    assert verdicts(partition, limited("d", "h1", "h2")) == [(Verdict.LIMIT, Verdict.FITS)]
    assert verdicts(partition, limited("e", "h1")) == [(Verdict.LIMIT,)]
    # Without a limit the host has room.
    assert verdicts(partition, intent("f", "h1")) == [(Verdict.FITS,)]


def test_claims_of_the_batch_count_and_all_or_none_are_made(partition: StorePartition) -> None:
    partition.add_host("h1")
    batch = [limited(f"c{number}", "h1") for number in range(LIMIT + 1)]
    assert verdicts(partition, *batch) == [(Verdict.FITS,)] * LIMIT + [(Verdict.LIMIT,)]
    assert partition.store.claims()[0] == []
    assert verdicts(partition, *batch[:LIMIT]) == [(Verdict.FITS,)] * LIMIT


def test_nodes_of_a_host_count_apart(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/a", "h1/ab")
    assert verdicts(partition, limited("c1", "h1/ab", limit=1)) == [(Verdict.FITS,)]
    assert verdicts(partition, limited("c2", "h1/a", limit=1)) == [(Verdict.FITS,)]
    assert verdicts(partition, limited("c3", "h1/ab", "h1/a", limit=1)) == [(Verdict.LIMIT, Verdict.LIMIT)]


def test_ended_claims_do_not_count(partition: StorePartition) -> None:
    partition.add_host("h1")
    released = partition.hold("c1", "h1")
    verdicts(partition, limited("c2", "h1", limit=3), ttl_ms=1000)
    partition.store.release("h1", [released])
    assert verdicts(partition, limited("c3", "h1", "h1", limit=1)) == [(Verdict.LIMIT, Verdict.LIMIT)]
    partition.wait_until(partition.time() + 1001)
    assert verdicts(partition, limited("c3", "h1", limit=1)) == [(Verdict.FITS,)]


def test_replaced_attempt_makes_room_for_its_successor(partition: StorePartition) -> None:
    partition.add_host("h1")
    assert verdicts(partition, limited("c1", "h1", limit=1)) == [(Verdict.FITS,)]
    successor = limited("c1", "h1", limit=1, attempt=2, replaces=1)
    assert verdicts(partition, successor) == [(Verdict.FITS,)]


def test_both_ends_of_a_move_count(partition: StorePartition) -> None:
    partition.add_host("h1")
    source = partition.hold("c1", "h1")
    assert partition.store.begin_moves([source], ["m1"])[0].answer is Answer.CONFIRMED
    destination = limited("c1", "h1", limit=1, attempt=2, move=("m1", 1))
    assert verdicts(partition, destination) == [(Verdict.LIMIT,)]
    assert verdicts(partition, limited("c1", "h1", limit=2, attempt=2, move=("m1", 1))) == [(Verdict.FITS,)]
    assert verdicts(partition, limited("c2", "h1", limit=2)) == [(Verdict.LIMIT,)]


def test_repeated_call_is_not_refused(partition: StorePartition) -> None:
    partition.add_host("h1")
    batch = partition.batch(limited("c1", "h1", limit=1))
    for _ in range(2):
        (result,) = partition.store.prepare(batch).prepared
        assert (result.answer, result.host) == (Answer.PREPARED, "h1")


def test_confirmed_claim_with_allocations_and_a_sums_position_is_limited(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    candidate = Candidate("h1", {"h1": SMALL}, partition.store.snapshot().position, limits=ClaimLimits(1))
    refused = replace(intent("c2", "h1"), candidates=[candidate])
    assert verdicts(partition, refused, resources={}) == [(Verdict.LIMIT,)]
    assert verdicts(
        partition, replace(refused, candidates=[replace(candidate, limits=ClaimLimits(2))]), resources={}
    ) == [(Verdict.FITS,)]


def test_counts_of_claims_are_sums_of_the_log(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/a")
    partition.store.change_provider(CreateProvider(API_NODE, "n1"))
    partition.store.change_provider(SetInventories(API_NODE, {"VCPU": Inventory(8)}))

    def counts(*nodes: str) -> list[tuple[int, int]]:
        entries = partition.store.follow(start, 0) or []
        sums = dict(pair for entry in entries if entry.kind == "used" for pair in entry.payload.items())
        assert sums == {name: partition.store.snapshot().used[name] for name in sums}
        return [(sums[node].get("claims", 0), sums[node].get("foreign_claims", 0)) for node in nodes]

    start = partition.store.snapshot().position
    claim = partition.hold("c1", "h1/a")
    partition.prepare("c2", "h1/a")
    assert counts("h1/a") == [(2, 0)]
    both = AllocationChange("put", {"h1/a": {"VCPU": 1}, API_NODE: {"VCPU": 1}}, "p", "u", ANY)
    assert partition.store.allocate([both]) is None
    assert counts("h1/a", API_NODE) == [(3, 1), (1, 0)]
    partition.store.begin_moves([claim], ["m1"])
    assert counts("h1/a") == [(3, 1)]
    partition.store.release("h1", [claim])
    partition.store.abort([ClaimRef("c2", 1)])
    assert partition.store.allocate([replace(both, allocations={})]) is None
    assert counts("h1/a", API_NODE) == [(0, 0), (0, 0)]
    partition.check()


def test_claim_counts_on_its_node_without_amounts_there(partition: StorePartition) -> None:
    outcome = partition.report("h1", {"h1": node_stats({"VCPU": 4}), "h1/gpu": child_stats("h1", {"CUSTOM_GPU": 4})})
    partition.store.audit("h1", outcome.epoch, [], 60_000)
    candidate = Candidate("h1", {"h1/gpu": {"CUSTOM_GPU": 1}}, limits=ClaimLimits(1))
    intents = [replace(intent(f"c{number}", "h1"), candidates=[candidate]) for number in range(2)]
    assert verdicts(partition, intents[0], resources={}) == [(Verdict.FITS,)]
    assert verdicts(partition, intents[1], resources={}) == [(Verdict.LIMIT,)]


def test_counts_have_no_capacity_and_never_exceed_it(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.report("h1", {"h1": node_stats({"VCPU": 0})})
    assert {row["class"] for row in partition.check().excess} == set(SMALL)


def test_allocations_of_placement_clients_count_and_are_never_refused(partition: StorePartition) -> None:
    store = partition.store
    store.change_provider(CreateProvider(API_NODE, "n1"))
    store.change_provider(SetInventories(API_NODE, {"VCPU": Inventory(8), "MEMORY_MB": Inventory(4096)}))
    for number in range(LIMIT + 1):
        change = AllocationChange(f"put{number}", {API_NODE: {"VCPU": 1}}, "p", "u", ANY, "INSTANCE")
        assert store.allocate([change]) is None
    final = {"final": True, "resources": {"VCPU": 1}}
    assert verdicts(partition, limited("c1", API_NODE, limit=LIMIT + 1), request_id="r1", **final) == [(Verdict.LIMIT,)]
    assert verdicts(partition, limited("c1", API_NODE, limit=LIMIT + 2), request_id="r2", **final) == [(Verdict.FITS,)]
    assert verdicts(partition, limited("c2", API_NODE, limit=LIMIT + 2), request_id="r3", **final) == [(Verdict.LIMIT,)]
