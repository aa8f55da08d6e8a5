# SPDX-License-Identifier: Apache-2.0
"""Passes of the bridge over Nova's databases."""

import json
from datetime import timedelta

import pytest
from sqlalchemy.exc import SQLAlchemyError

from rpcapi import errors
from tests.support.nova.nova_databases import row_name, uuid_for


def test_compute_nodes_are_documents_of_their_providers(bench):
    bench.run()
    assert set(bench.documents()) == {row_name("h1"), row_name("n1"), row_name("n2")}
    assert bench.documents()[row_name("n2")] == {
        "service_host": "h2",
        "node": "n2",
        "cell": uuid_for("cell1"),
        "up": True,
        "disabled": False,
        "forced_down": False,
        "disabled_reason": None,
        "version": 74,
        "mapped": True,
        "cell_disabled": False,
        "facts": {
            "hypervisor_type": "QEMU",
            "hypervisor_version": 8_001_000,
            "cpu_info": {"arch": "x86_64", "vendor": "AMD"},
            "supported_instances": [["x86_64", "kvm", "hvm"]],
        },
        "metrics": {"instances": 2, "io_ops": 1, "failed_builds": 0},
        "host_ip": "192.0.2.7",
        "amounts": {"vcpus": 16, "vcpus_used": 2, "free_ram_mb": 1024, "cpu_allocation_ratio": 4.0},
        "numa_topology": {},
        "pci_pools": [],
        "free_pci_devices": 0,
    }


@pytest.mark.parametrize("everything", [False, True])
def test_unconfirmed_resizes_are_counted_at_their_source(bench, everything):
    cell = bench.nova.cells["cell1"]

    def resizes():
        bench.clock.advance(5)
        bench.run(everything=everything)
        numbers = {name: document["metrics"].get("unconfirmed_resizes") for name, document in bench.documents().items()}
        return {name: number for name, number in numbers.items() if number is not None}

    for status in ("finished", "confirming", "migrating", "confirmed", "reverted", "error"):
        cell.add_migration("h2", "n2", status)
    cell.add_migration("h1", "h1", "finished", "migration")
    cell.add_migration("h1", "h1", "finished", "live-migration")
    assert resizes() == {row_name("n2"): 2, row_name("h1"): 1}
    cell.change_migrations("h2", "confirmed")
    assert resizes() == {row_name("h1"): 1}
    cell.change_migrations("h2", "finished")
    assert resizes() == {row_name("n2"): 6, row_name("h1"): 1}


def test_a_pass_without_changes_writes_nothing_but_its_time(bench):
    assert bench.run() == 3
    before = bench.store.snapshot().position
    bench.clock.advance(5)
    assert bench.run() == 0
    assert bench.store.snapshot().position == before + 1
    assert bench.state["read_ms"] == bench.clock.ms
    assert bench.run(everything=True) == 0


def test_reports_of_services_are_no_writes_and_their_end_is_one(bench):
    cell = bench.nova.cells["cell1"]
    bench.run()
    for _ in range(20):
        bench.clock.advance(10)
        cell.report("h1")
        bench.run()
    assert bench.computes("up") == {"h1": True, "n1": False, "n2": False}
    cell.report("h2")
    assert bench.run() == 2
    assert bench.computes("up") == {"h1": True, "n1": True, "n2": True}


@pytest.mark.parametrize(("seconds", "just_down"), [(60, False), (61, True), (120, True), (121, False), (-61, False)])
def test_a_service_is_just_down_for_a_minute(bench, seconds, just_down):
    bench.nova.cells["cell1"].change_service("h1", last_seen_up=bench.clock.now - timedelta(seconds=seconds))
    bench.run()
    assert bench.documents()[row_name("h1")].get("just_down", False) is just_down


@pytest.mark.parametrize(("seconds", "up"), [(60, True), (61, False), (-60, True), (-61, False)])
def test_a_service_is_up_within_service_down_time_of_the_stores_clock(bench, seconds, up):
    bench.nova.cells["cell1"].change_service("h1", last_seen_up=bench.clock.now - timedelta(seconds=seconds))
    bench.run()
    assert bench.computes("up")["h1"] is up


def test_a_service_that_never_reported_counts_from_its_record(bench):
    bench.nova.cells["cell1"].change_service("h1", last_seen_up=None)
    bench.run()
    assert bench.computes("up")["h1"] is True
    bench.clock.advance(61)
    bench.run()
    assert bench.computes("up")["h1"] is False


def test_what_operators_say_of_a_service_takes_effect(bench):
    bench.run()
    cell = bench.nova.cells["cell1"]
    cell.change_service("h1", disabled=True, disabled_reason="repair")
    cell.change_service("h2", forced_down=True)
    assert bench.run() == 3
    keys = ("up", "disabled", "disabled_reason", "forced_down")
    assert bench.computes(*keys) == {
        "h1": [True, True, "repair", False],
        "n1": [False, False, None, True],
        "n2": [False, False, None, True],
    }
    cell.change_service("h1", disabled=False, disabled_reason=None)
    cell.change_service("h2", forced_down=False)
    assert bench.run() == 3
    assert bench.computes(*keys)["n1"] == [True, False, None, False]


def test_changes_of_a_compute_node_take_effect(bench):
    bench.run()
    bench.clock.advance(100)
    times = {"source": "x", "timestamp": "y"}
    monitored = [
        {"name": "cpu.percent", "value": 0.29, **times},
        {"name": "cpu.frequency", "value": 800.7, **times},
        {"name": "odd", "value": "?"},
        {"name": "endless", "value": 1e999},
    ]
    bench.nova.cells["cell1"].change_node(
        "n1", stats=json.dumps({"num_instances": 9, "rack": "r7"}), metrics=json.dumps(monitored), host_ip="bad"
    )
    bench.run()
    document = bench.documents()[row_name("n1")]
    # Nova weighs whole numbers, and shares as per cent: 0.29 x 100 is 28.99... for both.
    assert document["metrics"] == {"cpu.percent": 28, "cpu.frequency": 800, "instances": 9}
    assert document["facts"]["rack"] == "r7"
    assert document["host_ip"] is None


@pytest.mark.parametrize("text", ["", None, "{", "[1]", '"x"'])
def test_columns_that_are_no_json_object_count_as_empty(bench, text):
    bench.nova.cells["cell1"].change_node("n1", stats=text, cpu_info=text, metrics=text)
    bench.run()
    document = bench.documents()[row_name("n1")]
    assert document["metrics"] == {} and "cpu_info" not in document["facts"]


POOL = {"vendor_id": "8086", "product_id": "154d", "numa_node": 1, "count": 3, "tags": {"physical_network": "net1"}}


def nova_object(name, data):
    return {"nova_object.name": name, "nova_object.namespace": "nova", "nova_object.data": data}


@pytest.mark.parametrize(
    ("stats", "pools", "free"),
    [
        (nova_object("PciDevicePoolList", {"objects": [nova_object("PciDevicePool", POOL)]}), [POOL], 3),
        # Stored by releases that had no objects: a list of mappings, or one, with the tags among the other keys.
        ([{"vendor_id": "1", "product_id": "2", "count": 4, "label": "x"}], [("1", "2", None, 4, {"label": "x"})], 4),
        ({"vendor_id": "1", "product_id": "2", "count": 1}, [("1", "2", None, 1, {})], 1),
        ([{**POOL, "count": -1}, {**POOL, "count": "many"}, "pool", POOL, POOL], [POOL, POOL], 6),
        (nova_object("PciDevicePoolList", {"objects": None}), [], 0),
        ({"nova_object.data": [1]}, [], 0),
        ("[", [], 0),
        (None, [], 0),
    ],
)
def test_device_pools_are_those_of_the_compute_node(bench, stats, pools, free):
    bench.nova.cells["cell1"].change_node("n1", pci_stats=stats if stats in (None, "[") else json.dumps(stats))
    bench.run()
    document = bench.documents()[row_name("n1")]
    keys = ("vendor_id", "product_id", "numa_node", "count", "tags")
    assert document["pci_pools"] == [
        pool if isinstance(pool, dict) else dict(zip(keys, pool, strict=True)) for pool in pools
    ]
    assert document["free_pci_devices"] == free


def test_cells_and_pools_that_are_too_long_for_a_document_are_left_out_but_counted(bench):
    pools = [{**POOL, "tags": {"note": "x" * 1000}}] * 30
    topology = nova_object("NUMATopology", {"cells": []})
    cell = bench.nova.cells["cell1"]
    cell.change_node("n1", pci_stats=json.dumps(pools), numa_topology=json.dumps(topology))
    cell.change_node("n2", numa_topology=json.dumps({"cells": ["x" * 100] * 300}))
    bench.run()
    document = bench.documents()[row_name("n1")]
    assert (document["pci_pools"], document["free_pci_devices"]) == ([], 90)
    assert document["numa_topology"] == topology
    assert bench.documents()[row_name("n2")]["numa_topology"] == {}


def test_deleted_rows_are_seen_at_once_and_purged_ones_by_the_next_comparison(bench):
    cell = bench.nova.cells["cell1"]
    bench.run()
    bench.clock.advance(200)
    cell.report("h2")
    cell.change_node("n1", host_ip="192.0.2.8")
    bench.run()
    cell.delete("h1")  # its other times are older than the overlap
    bench.run()
    assert set(bench.computes("up")) == {"n1", "n2"}
    cell.purge("h2")
    bench.run()
    assert set(bench.computes("up")) == {"n1", "n2"}
    bench.run(everything=True)
    assert bench.computes("up") == {}


def test_a_node_without_a_service_is_no_host(bench):
    cell = bench.nova.cells["cell1"]
    cell.add_node("stranger", "s1")
    cell.add_service("controller", "nova-conductor")
    cell.add_node("controller", "c1")
    bench.run()
    assert set(bench.computes("up")) == {"h1", "n1", "n2"}
    cell.add_service("stranger")
    bench.run()
    assert set(bench.computes("up")) == {"h1", "n1", "n2", "s1"}


def test_a_host_that_is_not_mapped_is_named(bench, caplog):
    bench.nova.cells["cell2"].add_compute("h3")
    bench.run()
    assert bench.computes("mapped")["h3"] is False
    assert bench.state["unmapped"] == ["h3"]
    assert "1 compute hosts are not mapped to a cell" in caplog.text
    bench.nova.map_hosts("cell2", "h3")
    bench.run()
    assert bench.computes("mapped")["h3"] is True and bench.state["unmapped"] == []


def test_a_host_that_is_mapped_to_another_cell_counts_as_not_mapped(bench):
    bench.nova.cells["cell2"].add_compute("h3")
    bench.nova.map_hosts("cell1", "h3")
    bench.run()
    assert bench.computes("mapped")["h3"] is False


def test_disabled_cells_are_marked_on_their_hosts(bench):
    bench.run()
    bench.nova.disable_cell("cell1")
    bench.run()
    assert set(bench.computes("cell_disabled").values()) == {True}
    assert bench.state["cells"] == {
        uuid_for("cell1"): {"name": "cell1", "disabled": True},
        uuid_for("cell2"): {"name": "cell2", "disabled": False},
    }
    bench.nova.remove_cell("cell1")
    bench.run()
    assert bench.documents() == {}


@pytest.mark.parametrize("restarted", [False, True])
def test_a_cell_whose_database_is_away_keeps_its_hosts_as_they_were(bench, restarted):
    bench.nova.cells["cell2"].add_compute("h3")
    bench.nova.map_hosts("cell2", "h3")
    bench.run()
    bench.nova.hide("cell1")
    since_ms = bench.clock.ms
    if restarted:
        bench.bridge = bench.make_bridge()
    for _ in range(3):
        bench.run()
        bench.clock.advance(100)
    bench.nova.disable_cell("cell1")
    bench.run(everything=True)
    assert bench.computes("up", "cell_disabled") == {
        "h1": [True, True],
        "n1": [True, True],
        "n2": [True, True],
        "h3": [False, False],
    }
    assert bench.state["cells"][uuid_for("cell1")]["unread_since_ms"] == since_ms
    assert "unread_since_ms" not in bench.state["cells"][uuid_for("cell2")]
    bench.nova.show("cell1")
    bench.run()
    assert bench.computes("up")["h1"] is False
    assert "unread_since_ms" not in bench.state["cells"][uuid_for("cell1")]


def test_nothing_changes_while_the_api_database_is_away(bench):
    bench.run()
    before = bench.store.snapshot().position
    bench.nova.hide("api")
    bench.clock.advance(100)
    with pytest.raises(SQLAlchemyError):
        bench.run()
    assert bench.store.snapshot().position == before


def test_aggregates_have_the_nodes_of_their_hosts(bench):
    bench.nova.add_aggregate("az1", "h2", "nowhere", availability_zone="z1", disk="ssd")
    bench.run()
    document = {
        "name": "az1",
        "hosts": [*sorted([row_name("n1"), row_name("n2")]), "nowhere"],
        "metadata": {"availability_zone": "z1", "disk": "ssd"},
    }
    assert bench.documents("aggregate") == {uuid_for("az1"): document}
    bench.nova.cells["cell1"].add_node("h2", "n3")
    bench.run()
    assert len(bench.documents("aggregate")[uuid_for("az1")]["hosts"]) == 4
    bench.nova.remove_aggregate("az1")
    bench.run()
    assert bench.documents("aggregate") == {}


@pytest.mark.parametrize(
    ("versions", "forced_down", "own"),
    [((73, 74), None, True), ((72, 74), None, False), ((72, 74), "h1", True), ((0, 73), None, True)],
)
def test_owner_trait_is_required_once_every_compute_sets_it(bench, versions, forced_down, own):
    cell = bench.nova.cells["cell1"]
    for host, version in zip(("h1", "h2"), versions, strict=True):
        cell.change_service(host, version=version, forced_down=host == forced_down)
    bench.run()
    assert bench.state["all_computes_own"] is own


def test_without_computes_no_trait_is_required(bench):
    bench.nova.cells["cell1"].delete("h1")
    bench.nova.cells["cell1"].delete("h2")
    bench.run()
    assert bench.state["all_computes_own"] is False


def test_rows_that_change_long_before_the_last_known_change_are_read_again_within_the_overlap(bench):
    """A transaction may be committed long after the time that it wrote."""
    cell = bench.nova.cells["cell1"]
    bench.run()
    bench.clock.advance(50)
    cell.report("h2")
    bench.run()
    bench.clock.advance(-50)
    cell.change_service("h1", disabled=True)
    bench.clock.advance(50)
    bench.run()
    assert bench.computes("disabled")["h1"] is True


def test_another_writer_is_noticed_and_its_document_is_replaced(bench):
    bench.run()
    name = row_name("h1")
    version, document = bench.store.get_state("compute_node", name)
    bench.store.put_state("compute_node", name, version, {**document, "disabled": True})
    bench.nova.cells["cell1"].change_service("h1", forced_down=True)
    with pytest.raises(errors.VersionConflict):
        bench.run()
    bench.bridge.take_over()
    bench.run()
    assert bench.computes("disabled", "forced_down")["h1"] == [False, True]


def test_facts_of_a_wrong_type_are_left_out(bench):
    broken = {"supported_instances": json.dumps([5]), "hypervisor_version": -1}
    bench.nova.cells["cell1"].change_node("n1", **broken)
    bench.run()
    facts = bench.store.get_state("compute_node", row_name("n1"))[1]["facts"]
    assert not facts.keys() & broken.keys()
    assert facts["hypervisor_type"] == "QEMU"


def test_a_document_that_is_not_allowed_is_logged_and_delays_no_other(bench, caplog):
    bench.nova.cells["cell1"].change_node("n1", cpu_info=json.dumps({"model": "x" * 70_000}))
    bench.run()
    assert set(bench.computes("up")) == {"h1", "n2"}
    assert f"Not writing document {row_name('n1')} of namespace compute_node" in caplog.text
    caplog.clear()
    bench.run()
    assert "Not writing document" not in caplog.text


def test_each_write_is_preceded_by_a_check_of_the_lease(bench):
    class Lost(Exception):
        pass

    def lose():
        raise Lost

    bridge = bench.make_bridge(keep_lease=lose)
    with pytest.raises(Lost):
        bridge.run_pass(everything=True)
    assert bench.documents() == {}
