# SPDX-License-Identifier: Apache-2.0
"""Pinned CPUs, huge pages and devices in a whole cluster: assigned from a flavor, and freed again."""

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempt import Attempt
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from devstack import exercise
from devstack.cluster_size import ClusterSize
from rpcapi import objects
from rpcapi.resources.names import host_of
from tests.support.clusters import clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster

SHAPE = ClusterSize(computes=2, nodes_per_host=1, schedulers=2)
NIC, GPU = "CUSTOM_PCI_8086_154D", "VGPU"
AGENTS = {
    # Of two cells each has a shared core and five that are pinned to, and each a card of its own.
    "shape:small": {
        "share": 1000,
        "vcpus": 24,
        "memory_mb": 16384,
        "numa_cells": 2,
        "threads_per_core": 2,
        "cpu_dedicated_set": "0-23,^0,^12,^6,^18",
        "huge_pages": "2048:1024",
        "pci_devices": "nic:1@0,nic:1@1",
        "devices": "gpu:1@1",
    },
    "pci_device:nic": {"vendor_id": "8086", "product_id": "154d", "functions": 5, "physical_network": "net0"},
    "device:gpu": {"resource_class": GPU, "instances": 2, "traits": "CUSTOM_A100"},
    "compute": {"retry_interval_max": 0.5, "report_interval": 2.0},
}
SCHEDULER = {"scheduler": {"claim_ttl": 5}, "store": {"audit_grace": 2, "reap_interval": 0.5}}
CONDUCTOR = {"conductor": {"build_timeout": 10, "recast_interval": 1, "pump_interval": 0.2}}
FLAVOR = {"vcpus": 4, "memory_mb": 1024, "disk_gb": 1}
CLIENT = {
    "flavor:pinned": {
        **FLAVOR,
        "extra_specs": "hw:cpu_policy=dedicated, hw:cpu_thread_policy=require, hw:numa_nodes=2, hw:mem_page_size=2MB, "
        "pci_passthrough:alias=nic:1",
    },
    "flavor:accelerated": {**FLAVOR, "vcpus": 2, "extra_specs": "accel:device_profile=gpu"},
    "device_profile:gpu": {"group": f"resources:{GPU}=1, trait:CUSTOM_A100=required"},
    "pci": {"alias": '{"name": "nic", "vendor_id": "8086", "product_id": "154d", "numa_policy": "required"}'},
}
OVERRIDES = {"compute": AGENTS, "scheduler": SCHEDULER, "conductor": CONDUCTOR, "client": CLIENT}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE, OVERRIDES) as running:
        yield running


def gantt(cluster: RunningCluster, *arguments: str) -> Any:
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout) if "json" in arguments else done.stdout


def live_attempts(cluster: RunningCluster) -> dict[str, list[Attempt]]:
    """Return the live attempts of each host by its journal; journals are copied, because agents go on writing."""
    attempts_by_host = {}
    for path in (cluster.cluster.layout.state / "compute").glob("*/journal"):
        copy = Path(shutil.copy(path, path.with_name("copy-of-journal")))
        host = json.loads(copy.read_bytes().split(b"\n", 1)[0].partition(b" ")[2])["host"]
        journal = Journal(JournalFile(copy, host), retention_ms=10**9)
        journal.open()
        attempts_by_host[host] = journal.live()
        journal.close()
        copy.unlink()
    return attempts_by_host


def assigned_units(attempts: list[Attempt]) -> tuple[list[int], list[str]]:
    """Return all CPUs and units that are assigned to attempts, with duplicates."""
    cells = [cell for item in attempts for cell in item.assignments.get("numa", {}).get("cells", ())]
    cpus = [cpu for cell in cells for cpu in [*(pin[1] for pin in cell["pins"]), *cell["emulator"]]]
    kinds = [item.assignments.get(kind, {}).get("units", {}) for item in attempts for kind in ("pci", "device")]
    return cpus, [f"{path}#{unit}" for units in kinds for path, names in units.items() for unit in names]


def pinned_cpus(cluster: RunningCluster, node: str) -> list[str]:
    """Return the reported pinned CPUs of each cell of a node."""
    session = cluster.session
    return [cell["pinned"] for cell in session.call(session.scheduler.get_host_state, "compute", node).document["numa"]]


def test_flavor_topology_is_assigned_cpus_pages_and_devices(cluster: RunningCluster) -> None:
    # when a server with two cells, huge pages and a card is booted, and one with an accelerator
    (server,) = gantt(cluster, "server", "boot", "--flavor", "pinned", "--wait", "-f", "json")
    (other,) = gantt(cluster, "server", "boot", "--flavor", "accelerated", "--wait", "-f", "json")

    # then the operator sees its assignment: two threads of a core in each cell, and a function near one of them
    shown = gantt(cluster, "server", "show", server["uuid"], "-f", "json")
    assert shown["status"] == "ACTIVE"
    assert "NUMA cell 0: CPUs" in shown["reason"]
    assert "256 pages of 2048 kB" in shown["reason"]
    assert "0000:01:00.1" in shown["reason"] or "0000:02:00.1" in shown["reason"]
    (accelerated,) = truth.records(cluster, [other["uuid"]])
    assert "numa1/gpu-0: 0" in accelerated.reason
    (attempt,) = (item for item in live_attempts(cluster)[host_of(shown["host"])] if item.uuid == server["uuid"])
    cells = attempt.assignments["numa"]["cells"]
    assert [len({host % 12 for _, host in cell["pins"]}) for cell in cells] == [1, 1]
    assert sorted(cell["guest"] for cell in cells) == [0, 1]
    # and the scheduler gets it
    truth.until("the cells are reported", lambda: pinned_cpus(cluster, shown["host"]) != ["", ""], 20)
    assert "256/1024 pages of 2048 kB" in gantt(cluster, "host", "show", shown["host"])

    # when they are deleted, all is free again
    cluster.session.call(cluster.session.conductor.delete_instances, [server["uuid"], other["uuid"]])
    truth.until("the cells are free", lambda: pinned_cpus(cluster, shown["host"]) == ["", ""], 20)
    truth.until("no claim is left", lambda: not truth.claims(cluster))
    assert not any(live_attempts(cluster).values())


def spec() -> objects.RequestSpec:
    """Return a guest that takes two CPUs, a function and some pages of one cell."""
    numa = {
        "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 64}],
        "cpu_policy": "dedicated",
        "thread_policy": "require",
        "page_size_kb": 2048,
        "devices": {"_pci0": "required"},
    }
    groups = {
        "_numa0": {"resources": {"PCPU": 2, "CUSTOM_MEMORY_PAGES_2048KB": 64}},
        "_pci0": {"resources": {NIC: 1}},
    }
    return objects.RequestSpec.of(
        resources={"DISK_GB": 1},
        groups=groups,
        groups_policy="none",
        numa=numa,
        same_subtree=[["_numa0", "_pci0"]],
    )


def request_servers(cluster: RunningCluster, count: int) -> list[str]:
    """Request servers, one request each, without waiting."""
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    for item in uuids:
        cluster.session.new_request()
        cluster.session.call(cluster.session.conductor.build_instances, spec(), [item])
    return uuids


def test_moves_assign_cells_and_devices_at_both_ends_until_one_is_freed(cluster: RunningCluster) -> None:
    # Given two guests with pinned CPUs and a function of a card, and one with an accelerator
    session = cluster.session
    uuids = request_servers(cluster, 2)
    (accelerated,) = gantt(cluster, "server", "boot", "--flavor", "accelerated", "--wait", "-f", "json")
    uuids.append(accelerated["uuid"])
    before = {item.uuid: item for item in truth.assert_consistent(cluster, uuids)}
    assignments = assignments_of(cluster)
    assert [before[item].status for item in uuids] == ["ACTIVE"] * 3
    # When they are migrated
    migrations = [str(uuid.uuid4()) for _ in uuids]
    session.call(session.conductor.migrate_instances, uuids, migrations)
    truth.wait_for_status(cluster, uuids, "VERIFY_RESIZE")
    # Then the sources keep what they have, the destinations have as much, and nothing is assigned twice
    both = assignments_of(cluster)
    sources = [(item, before[item].attempt) for item in uuids]
    destinations = [(item.uuid, item.attempt) for item in truth.records(cluster, uuids)]
    assert both.keys() == {*sources, *destinations}
    for source, destination in zip(sources, destinations, strict=True):
        assert both[source] == assignments[source]
        counts = _counts(both[source])
        assert _counts(both[destination]) == counts and any(counts.values())
    assert_assigned_once(cluster)
    # When some are confirmed and one is reverted
    session.call(session.conductor.confirm_migrations, migrations[1:])
    session.call(session.conductor.revert_migrations, migrations[:1])
    truth.wait_for_status(cluster, uuids, "ACTIVE")
    # Then one end of each is left
    after = {item.uuid: item for item in truth.assert_consistent(cluster, uuids)}
    assert [after[item].host != before[item].host for item in uuids] == [False, True, True]
    assert assignments_of(cluster) == {end: both[end] for end in (sources[0], *destinations[1:])}
    assert_assigned_once(cluster)
    session.call(session.conductor.delete_instances, uuids)
    truth.until("all is free", lambda: not any(live_attempts(cluster).values()))


def assignments_of(cluster: RunningCluster) -> dict[tuple[str, int], Any]:
    """Return what is assigned to each live attempt."""
    attempts = [item for items in live_attempts(cluster).values() for item in items]
    assert len({item.ref for item in attempts}) == len(attempts)
    return {tuple(item.ref): item.assignments for item in attempts}


def assert_assigned_once(cluster: RunningCluster) -> None:
    for attempts in live_attempts(cluster).values():
        for assigned in assigned_units(attempts):
            assert len(set(assigned)) == len(assigned)


def _counts(assignments: dict[str, Any]) -> dict[str, list[int]]:
    """Return how many CPUs and units of each kind are assigned, in each cell and of each device."""
    return {
        kind: sorted(
            [
                *(len(cell["pins"]) for cell in assigned.get("cells", ())),
                *(len(names) for names in assigned.get("units", {}).values()),
            ]
        )
        for kind, assigned in assignments.items()
    }


@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_concurrent_boots_fill_cells_and_devices_exactly_with_agents_killed(
    cluster: RunningCluster, rounds: int
) -> None:
    for _ in range(rounds):
        fill_and_empty(cluster)


def fill_and_empty(cluster: RunningCluster) -> None:
    # given capacity for five guests in each of four cells, and more guests
    uuids = request_servers(cluster, 8)
    cluster.cluster.daemons["compute"].kill_group()
    before = live_attempts(cluster)
    cluster.cluster.start_daemon("compute")
    uuids += request_servers(cluster, 16)
    exercise.wait_for_nodes(cluster.session, SHAPE.nodes, 60, lambda count: None)
    active = [item.uuid for item in truth.assert_consistent(cluster, uuids) if item.status == "ACTIVE"]

    # when builds that failed by the crash are requested again, until the capacity is used up
    while len(active) < 20:
        more = truth.assert_consistent(cluster, [*active, *(late := request_servers(cluster, 24 - len(active)))])
        fresh = [item.uuid for item in more if item.status == "ACTIVE" and item.uuid in late]
        assert fresh, f"only {len(active)} of 20 fit"
        active += fresh

    # then everything is assigned once, and guests that survived the crash keep their assignments
    after = live_attempts(cluster)
    for host, attempts in after.items():
        cpus, units = assigned_units(attempts)
        assert sorted(cpus) == sorted(set(range(24)) - {0, 12, 6, 18})
        assert len(set(units)) == len(units) == 10
        assignments = {item.ref: item.assignments for item in attempts}
        assert all(assignments[item.ref] == item.assignments for item in before[host] if item.ref in assignments)
    assert sorted(active) == sorted(item.uuid for attempts in after.values() for item in attempts)
    assert len(active) == 20
    cluster.session.call(cluster.session.conductor.delete_instances, active)
    truth.until("all is free", lambda: not any(live_attempts(cluster).values()))
