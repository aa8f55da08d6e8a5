# SPDX-License-Identifier: Apache-2.0
"""The number of claims on a node, which a candidate may limit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rpcapi.resources.claims import Answer, Verdict
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.names import is_api_provider
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.records import Candidate, ClaimLimits, ClaimRef, Intent
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories
from tests.support.store.store_partition import ROOMY, SMALL, StorePartition, child_stats, intent, node_stats, running

LIMIT = 2
API_NODE = "@api/n1"
WIDE = {name: 4 * amount for name, amount in ROOMY.items()}


def limited(consumer: str, *hosts: str, limit: int | None = LIMIT, builds: int | None = None, **options: Any) -> Intent:
    candidates = [Candidate(host, limits=ClaimLimits(limit, builds)) for host in hosts]
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


def build(partition: StorePartition, consumer: str, host: str = "h1", limit: int = LIMIT) -> Verdict:
    """Prepare a claim of a consumer within a limit of builds."""
    ((verdict,),) = verdicts(partition, limited(consumer, host, limit=None, builds=limit))
    return verdict


def report_metrics(partition: StorePartition, host: str = "h1", *nodes: str, **metrics: float) -> None:
    nodes = nodes or (host,)
    partition.report(host, {node: {**node_stats(WIDE), "metrics": metrics} for node in nodes})


def built(partition: StorePartition, node: str = "h1") -> int:
    """Return how many claims on a node are no builds, as the limits that an intent does not pass tell."""
    partition.check()
    used = partition.store.snapshot().used.get(node, {})
    claims = used.get("claims", 0) - used.get("foreign_claims", 0)
    refused = [limit for limit in range(claims + 1) if _refuses(partition, node, limit)]
    return claims - max(refused, default=0)


def _refuses(partition: StorePartition, node: str, limit: int) -> bool:
    """Return whether the node has at least ``limit`` builds; an unknown host lets nothing be claimed."""
    probe = [limited("probe", node, limit=None, builds=limit), intent("unknown", "unknown")]
    options: dict[str, Any] = {"final": True, "resources": {"VCPU": 1}} if is_api_provider(node) else {}
    (verdict, *_), _ = verdicts(partition, *probe, **options)
    return verdict is Verdict.LIMIT


def report_node(partition: StorePartition, **metrics: float) -> None:
    """Publish the metrics of a node of another system."""
    version, _document = partition.store.find_state(compute_node.NAMESPACE, API_NODE)
    partition.store.put_state(compute_node.NAMESPACE, API_NODE, version, {"metrics": metrics})


def put(partition: StorePartition, *consumers: str, **amounts: int) -> None:
    """Write allocations of consumers from the API's node, none without ``amounts``."""
    allocations = {API_NODE: amounts} if amounts else {}
    changes = [AllocationChange(consumer, allocations, "p", "u", ANY) for consumer in consumers]
    assert partition.store.allocate(changes) is None


def add_node(partition: StorePartition) -> None:
    partition.store.change_provider(CreateProvider(API_NODE, "n1"))
    partition.store.change_provider(SetInventories(API_NODE, {"VCPU": Inventory(8)}))


def test_claims_count_as_builds_until_their_host_reports_them_as_built(partition: StorePartition) -> None:
    partition.add_host("h1", amounts=WIDE)
    assert [build(partition, f"c{number}") for number in range(3)] == [Verdict.FITS, Verdict.FITS, Verdict.LIMIT]
    report_metrics(partition, instances=2, io_ops=1)
    assert [build(partition, f"d{number}") for number in range(2)] == [Verdict.FITS, Verdict.LIMIT]
    report_metrics(partition, instances=2, io_ops=0)  # the third build has not reached the host
    assert [build(partition, f"e{number}") for number in range(2)] == [Verdict.FITS, Verdict.LIMIT]
    assert verdicts(partition, limited("f", "h1", limit=4, builds=8)) == [(Verdict.LIMIT,)]
    assert verdicts(partition, limited("f", "h1", limit=5, builds=2)) == [(Verdict.LIMIT,)]
    assert verdicts(partition, limited("f", "h1", limit=5, builds=3)) == [(Verdict.FITS,)]


def test_builds_of_the_batch_count_and_those_that_it_replaces_do_not(partition: StorePartition) -> None:
    partition.add_host("h1")
    batch = [limited(f"c{number}", "h1", limit=None, builds=LIMIT) for number in range(LIMIT + 1)]
    assert verdicts(partition, *batch) == [(Verdict.FITS,)] * LIMIT + [(Verdict.LIMIT,)]
    assert verdicts(partition, *batch[:LIMIT]) == [(Verdict.FITS,)] * LIMIT
    successors = [
        limited(f"c{number}", "h1", limit=None, builds=LIMIT, attempt=2, replaces=1) for number in range(LIMIT)
    ]
    assert verdicts(partition, *successors, request_id="r2") == [(Verdict.FITS,)] * LIMIT


def test_claims_that_change_hands_between_reports_count_as_built_again(partition: StorePartition) -> None:
    """Given instances that ended and others that were built, in the same number, before the host reports again."""
    partition.add_host("h1")
    claims = [partition.hold(f"c{number}", "h1") for number in range(3)]
    report_metrics(partition, instances=3, io_ops=0)
    partition.store.release("h1", claims)
    for number in range(3):
        partition.hold(f"d{number}", "h1")
    report_metrics(partition, instances=3, io_ops=0)
    assert [build(partition, f"e{number}", "h1", 1) for number in range(2)] == [Verdict.FITS, Verdict.LIMIT]


def test_rewritten_claims_of_builds_stay_builds(make_partition: Any) -> None:
    partition = make_partition(namespaces=[compute_node.NAMESPACE])
    add_node(partition)
    report_node(partition, instances=1, io_ops=0)
    for _ in range(2):
        put(partition, "c1", "c2", "c3", VCPU=1)
        refused = limited("c4", API_NODE, limit=None, builds=2)
        assert verdicts(partition, refused, final=True, resources={"VCPU": 1}) == [(Verdict.LIMIT,)]


def test_report_of_built_instances_makes_no_decision_late(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c", "h1")
    position = partition.store.snapshot().position
    report_metrics(partition, instances=1, io_ops=0)
    full = limited("d", "h1", limit=1, builds=None)
    assert verdicts(partition, full, position=position) == [(Verdict.LIMIT,)]


def test_nodes_report_their_built_instances_apart(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/a", "h1/b")
    for node in ("h1/a", "h1/b"):
        partition.hold(f"c-{node[-1]}", node)
    partition.report("h1", {node: node_stats(ROOMY) for node in ("h1/a", "h1/b")}, sequence=50)
    difference = {"incarnation": partition.incarnations["h1"], "sequence": 51, "base": 50, "full": False}
    partition.report("h1", {"h1/a": {"metrics": {"instances": 1, "io_ops": 0}}}, **difference)
    assert (built(partition, "h1/a"), built(partition, "h1/b")) == (1, 0)
    assert build(partition, "d", "h1/a", 1) is Verdict.FITS
    assert build(partition, "e", "h1/b", 1) is Verdict.LIMIT


def test_late_reports_and_reports_of_a_former_incarnation_change_no_count(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c", "h1")
    former = partition.incarnations["h1"]
    report_metrics(partition, instances=1, io_ops=1)
    stats = {"h1": {**node_stats(ROOMY), "metrics": {"instances": 1, "io_ops": 0}}}
    partition.report("h1", stats, incarnation=former, sequence=1)
    partition.report("h1", stats, incarnation=former - 1, sequence=1000)
    assert built(partition) == 0
    partition.report("h1", stats, agent="b", incarnation=0, register=True)
    assert built(partition) == 1


def test_claims_that_an_audit_restores_count_as_built_if_their_host_reports_it(partition: StorePartition) -> None:
    partition.add_host("h1")
    mark = partition.mark()
    refs = [partition.hold(f"c{number}", "h1") for number in range(3)]
    epoch = partition.forget_since(mark)
    report_metrics(partition, instances=3, io_ops=1)
    partition.store.audit("h1", epoch, [running(ref, "h1") for ref in refs], 60_000)
    assert len(partition.store.claims()[0]) == 3
    assert [build(partition, f"e{number}", "h1", 2) for number in range(2)] == [Verdict.FITS, Verdict.LIMIT]


def test_removed_host_leaves_no_sums(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/a", "h1/b")
    claim = partition.hold("c", "h1/a")
    report_metrics(partition, "h1", "h1/a", "h1/b", instances=2, io_ops=0)
    report_metrics(partition, "h1", "h1/b", instances=1, io_ops=0)
    partition.store.release("h1", [claim])
    assert not partition.store.snapshot().used


def test_metrics_of_another_system_s_node_count_its_builds(make_partition: Any) -> None:
    partition = make_partition(namespaces=[compute_node.NAMESPACE])
    add_node(partition)
    put(partition, "c1", "c2", VCPU=1)
    report_node(partition, instances=2, io_ops=1)
    assert built(partition, API_NODE) == 1
    put(partition, "c3", VCPU=1)
    report_node(partition, instances=2, io_ops=0, unconfirmed_resizes=1)
    assert built(partition, API_NODE) == 3
    put(partition, "c1")
    assert built(partition, API_NODE) == 2
    version, _document = partition.store.find_state(compute_node.NAMESPACE, API_NODE)
    partition.store.delete_state(compute_node.NAMESPACE, API_NODE, version)
    assert built(partition, API_NODE) == 0


def test_metrics_may_come_before_the_provider_and_its_claims(make_partition: Any) -> None:
    partition = make_partition(namespaces=[compute_node.NAMESPACE])
    report_node(partition, instances=2, io_ops=0)
    add_node(partition)
    put(partition, "c1", "c2", "c3", VCPU=1)
    assert built(partition, API_NODE) == 2


def test_built_claim_that_a_selection_extends_stays_built(make_partition: Any) -> None:
    partition = make_partition(namespaces=[compute_node.NAMESPACE])
    add_node(partition)
    partition.add_host("h1")
    put(partition, "c1", VCPU=1)
    report_node(partition, instances=1, io_ops=0)
    partition.store.change_provider(CreateProvider("@api/n2", "n2"))
    partition.store.change_provider(SetInventories("@api/n2", {"VCPU": Inventory(8)}))
    final = limited("c1", "@api/n2", limit=None, builds=1)
    assert verdicts(partition, final, final=True, resources={"VCPU": 1}) == [(Verdict.FITS,)]
    assert (built(partition, API_NODE), built(partition, "@api/n2")) == (1, 0)


@pytest.mark.parametrize(
    ("metrics", "number"),
    [
        ({"io_ops": 1}, 0),
        ({"instances": 1, "io_ops": 2}, 0),
        ({"instances": 1.5}, 1),
        ({"instances": 1e300, "io_ops": 0}, 0),
        ({"instances": -1}, 0),
    ],
)
def test_odd_metrics(partition: StorePartition, metrics: dict[str, float], number: int) -> None:
    partition.add_host("h1")
    partition.hold("c", "h1")
    report_metrics(partition, **metrics)
    assert built(partition) == number
