# SPDX-License-Identifier: Apache-2.0
"""Reports, heartbeats and host state documents."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from tests.support.store.store_partition import (
    ROOMY,
    SHORT_MS,
    StorePartition,
    node_stats,
)


def delta(partition: StorePartition, sequence: int, base: int, nodes: dict):
    return partition.report("h1", nodes, sequence=sequence, base=base, full=False)


def full(partition: StorePartition, sequence: int, nodes: dict):
    return partition.report("h1", nodes, sequence=sequence)


def test_first_report_creates_the_host(partition: StorePartition) -> None:
    outcome = full(partition, 1, {"h1/n1": node_stats(ROOMY, traits=["HW_B", "HW_A"], zone="az1")})
    assert (outcome.need_full, outcome.audit) == (False, True)
    version, node = partition.store.get_state("compute", "h1/n1")
    assert (version, node["traits"], node["availability_zone"], node["used"]) == (1, ["HW_A", "HW_B"], "az1", {})
    assert (node["host"], node["root"], node["parent"]) == ("h1", "h1/n1", None)
    assert node["inventories"]["VCPU"]["capacity"] == 4
    version, service = partition.store.get_state("service", "h1")
    assert (version, service["binary"], service["enabled"], service["alive"]) == (1, "gantt-compute", True, True)
    assert service["audited"] is False and service["last_report_ms"] <= partition.time()


def test_audited_host_needs_no_audit(partition: StorePartition) -> None:
    partition.add_host("h1")
    assert partition.report("h1", {"h1": node_stats(ROOMY)}).audit is False
    assert partition.store.get_state("service", "h1")[1]["audited"] is True


def test_repeated_report_changes_nothing(partition: StorePartition) -> None:
    full(partition, 1, {"h1": node_stats(ROOMY)})
    before = partition.store.snapshot()
    assert full(partition, 1, {"h1": node_stats({"VCPU": 9})}).need_full is False
    assert full(partition, 2, {"h1": node_stats(ROOMY)}).position == before.position
    assert partition.store.snapshot() == before


def test_delta_changes_only_reported_fields(partition: StorePartition) -> None:
    full(partition, 1, {"h1/n1": node_stats(ROOMY, zone="az1"), "h1/n2": node_stats(ROOMY)})
    assert delta(partition, 2, 1, {"h1/n1": {"traits": ["HW_A"]}}).need_full is False
    version, node = partition.store.get_state("compute", "h1/n1")
    assert (version, node["traits"], node["availability_zone"]) == (2, ["HW_A"], "az1")
    assert partition.store.get_state("compute", "h1/n2")[0] == 1
    entries = partition.store.follow(partition.store.snapshot().position - 1, 0)
    assert entries is not None and list(entries[0].payload) == ["h1/n1"]


def test_delta_on_another_base_needs_a_full_report(partition: StorePartition) -> None:
    full(partition, 2, {"h1": node_stats(ROOMY)})
    before = partition.store.snapshot()
    assert delta(partition, 4, 3, {"h1": {"traits": ["HW_A"]}}).need_full is True
    assert partition.store.snapshot() == before
    assert delta(partition, 3, 2, {}).need_full is False
    assert delta(partition, 4, 3, {}).need_full is False


def test_delta_for_an_unknown_node_is_rejected(partition: StorePartition) -> None:
    full(partition, 1, {"h1/n1": node_stats(ROOMY)})
    before = partition.store.snapshot()
    with pytest.raises(errors.UnknownHost, match="h1/n9"):
        delta(partition, 2, 1, {"h1/n9": {"traits": []}})
    assert partition.store.snapshot() == before
    assert delta(partition, 2, 1, {}).need_full is False


def test_full_report_removes_unreported_nodes(partition: StorePartition) -> None:
    full(partition, 1, {"h1/n1": node_stats(ROOMY), "h1/n2": node_stats(ROOMY)})
    full(partition, 2, {"h1/n2": node_stats(ROOMY)})
    assert list(partition.store.snapshot().providers) == ["h1/n2"]
    with pytest.raises(errors.UnknownHost):
        partition.store.get_state("compute", "h1/n1")


def test_node_of_another_host_is_rejected(partition: StorePartition) -> None:
    with pytest.raises(errors.InvalidRequest, match="another host"):
        full(partition, 1, {"h2/n1": node_stats(ROOMY)})


def test_silent_host_goes_down_and_recovers(partition: StorePartition) -> None:
    full(partition, 1, {"h1": node_stats(ROOMY)})
    reported = partition.store.get_state("service", "h1")[1]["last_report_ms"]
    partition.wait_until(reported + SHORT_MS)
    for _ in range(2):
        partition.store.reap(dead_after_ms=SHORT_MS, tombstone_ms=60_000)
    assert partition.store.get_state("service", "h1")[1]["alive"] is False
    before = partition.store.snapshot()
    assert before.alive == {"h1": False}
    delta(partition, 2, 1, {})
    assert [(entry.kind, entry.payload) for entry in partition.store.follow(before.position, 0) or ()] == [
        ("alive", {"h1": True})
    ]


@pytest.mark.parametrize("ahead_ms", [3_600_000, -3_600_000])
def test_clock_of_a_service_that_is_off_is_shown_until_its_next_heartbeat(
    partition: StorePartition, ahead_ms: int
) -> None:
    def offset() -> int | None:
        (row,) = partition.store.list_state("service")[0]
        shown = row[2]["clock_offset_ms"]
        assert shown == partition.store.get_state("service", "h1")[1]["clock_offset_ms"]
        return shown

    full(partition, 1, {"h1": node_stats(ROOMY)})
    clock_ms = partition.time() + partition.store.clock_lead()
    partition.store.note_clock("h1", clock_ms)
    assert offset() is None
    partition.store.note_clock("h1", clock_ms + ahead_ms)
    shown = offset()
    # time passes between reading the store's clock and the verb, so that the service's is older by then
    assert shown is not None and shown <= ahead_ms and (shown > 0) == (ahead_ms > 0)
    partition.wait_until(partition.time() + 2)
    delta(partition, 2, 1, {})
    assert offset() is None
    # and it goes with the host
    partition.store.note_clock("h1", clock_ms + ahead_ms)
    partition.store.remove("h1")
    full(partition, 1, {"h1": node_stats(ROOMY)})
    assert offset() is None


def test_clock_of_an_unknown_service_is_not_recorded(partition: StorePartition) -> None:
    partition.store.note_clock("h1", 1)
    full(partition, 1, {"h1": node_stats(ROOMY)})
    assert partition.store.get_state("service", "h1")[1]["clock_offset_ms"] is None


def test_heartbeat_of_a_service_without_nodes(partition: StorePartition) -> None:
    partition.store.heartbeat("m1", "gantt-conductor")
    before = partition.store.snapshot().position
    partition.store.heartbeat("m1", "gantt-conductor")
    assert partition.store.snapshot().position == before
    _version, document = partition.store.get_state("service", "gantt-conductor@m1")
    assert (document["binary"], document["alive"]) == ("gantt-conductor", True)
    with pytest.raises(errors.UnknownHost):
        partition.store.get_state("service", "m1")


def test_versions_that_a_service_reports_are_in_its_document(partition: StorePartition) -> None:
    store = partition.store
    store.heartbeat("m1", "gantt-conductor")
    name, reported = "gantt-conductor@m1", {"rpc_versions": {"conductor": "1.16"}, "older_seen_ms": 5}
    version = store.put_state("service", name, 1, reported)
    assert store.get_state("service", name)[1].items() >= reported.items()
    store.heartbeat("m1", "gantt-conductor")
    store.put_state("service", name, version, {"rpc_versions": None, "older_seen_ms": None})
    document = store.get_state("service", name)[1]
    assert document["rpc_versions"] is None
    assert "older_seen_ms" not in document


def test_unknown_names_and_namespaces_are_rejected(partition: StorePartition) -> None:
    with pytest.raises(errors.UnknownNamespace):
        partition.store.get_state("volume", "h1")
    with pytest.raises(errors.UnknownNamespace):
        partition.store.list_state("volume")
    for namespace in ("compute", "service"):
        with pytest.raises(errors.UnknownHost):
            partition.store.get_state(namespace, "h1")
    with pytest.raises(errors.UnknownHost):
        partition.store.put_state("service", "h1", 1, {"enabled": False})


def test_list_state_is_paged_by_name(partition: StorePartition) -> None:
    for host in ("h3", "h1", "h2"):
        partition.add_host(host)
    page, marker = partition.store.list_state("compute", limit=2)
    assert [name for name, _version, _document in page] == ["h1", "h2"]
    page, marker = partition.store.list_state("compute", marker=marker, limit=2)
    assert ([name for name, _version, _document in page], marker) == (["h3"], None)
    services, _marker = partition.store.list_state("service")
    assert [(name, document["enabled"]) for name, _version, document in services] == [
        ("h1", True),
        ("h2", True),
        ("h3", True),
    ]


def test_operator_can_disable_a_service(partition: StorePartition) -> None:
    partition.add_host("h1")
    change = {"enabled": False, "disabled_reason": "disk"}
    assert partition.store.put_state("service", "h1", 1, change) == 2
    version, document = partition.store.get_state("service", "h1")
    assert (version, document["enabled"], document["disabled_reason"]) == (2, False, "disk")
    position = partition.store.snapshot().position
    # A repeated update changes nothing.
    assert partition.store.put_state("service", "h1", 1, change) == 2
    assert partition.store.snapshot().position == position
    with pytest.raises(errors.VersionConflict):
        partition.store.put_state("service", "h1", 1, {"enabled": True})
    partition.report("h1", {"h1": node_stats(ROOMY)})
    assert partition.store.get_state("service", "h1")[1]["enabled"] is False


@pytest.mark.parametrize(
    ("namespace", "changes"),
    [
        ("service", {"binary": "x"}),
        ("service", {"enabled": 1}),
        ("service", {"disabled_reason": 7}),
        ("service", {"disabled_reason": "x" * 300}),
        ("compute", {"traits": []}),
    ],
)
def test_protected_fields_cannot_be_changed(partition: StorePartition, namespace: str, changes: dict) -> None:
    partition.add_host("h1")
    with pytest.raises(errors.InvalidRequest):
        partition.store.put_state(namespace, "h1", 1, changes)


def test_inventory_below_usage_is_flagged_and_refuses_claims(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.report("h1", {"h1": node_stats({"VCPU": 0, "MEMORY_MB": 1024})})
    assert [(entry["class"], entry["used"], entry["capacity"]) for entry in partition.check().excess] == [
        ("VCPU", 1, 0)
    ]
    assert partition.prepare("c2", "h1").answer is Answer.REFUSED
    partition.report("h1", {"h1": node_stats({"VCPU": 4, "MEMORY_MB": 1024})})
    assert list(partition.check().excess) == []


def test_removed_node_with_claims_is_flagged_as_excess(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/n2")
    partition.hold("c1", "h1/n1")
    partition.report("h1", {"h1/n2": node_stats({"VCPU": 4, "MEMORY_MB": 1024})})
    assert {entry["provider"] for entry in partition.check().excess} == {"h1/n1"}
    assert tuple(partition.prepare("c2", "h1/n1").verdicts) == (Verdict.UNKNOWN,)
    partition.store.release("h1", [ClaimRef("c1", 1)])
    assert list(partition.check().excess) == []
    assert partition.store.snapshot().used.get("h1/n1", {}) == {}
