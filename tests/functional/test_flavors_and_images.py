# SPDX-License-Identifier: Apache-2.0
"""Flavors, images, request groups and hints in a whole cluster, by the command-line client."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi.resources.names import host_of
from tests.support.clusters import clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster

SHAPE = ClusterSize(computes=3, nodes_per_host=1, schedulers=1)
AGENTS = {
    # Every node is of one shape: with cells, pinned cpus and huge pages, a device of each kind and a bandwidth.
    "shape:small": {
        "share": 1000,
        "traits": "CUSTOM_RACKED,CUSTOM_PHYSNET_NET0",
        "numa_cells": 2,
        "cpu_dedicated_set": "0-3,8-15",
        "huge_pages": "2048:4096",
        "supported_instances": "x86_64:kvm:hvm",
        "devices": "gpu:2",
        "pci_devices": "qat:2@1",
        "resources": "NET_BW_EGR_KILOBIT_PER_SEC:1000",
    },
    "device:gpu": {"resource_class": "VGPU", "instances": 4, "traits": "CUSTOM_A100"},
    "pci_device:qat": {"vendor_id": "8086", "product_id": "0443"},
}
CLIENT = {
    "flavor:plain": {"vcpus": 1, "memory_mb": 512, "disk_gb": 1},
    "flavor:gpus": {
        "vcpus": 2,
        "memory_mb": 1024,
        "disk_gb": 5,
        "extra_specs": "trait:CUSTOM_RACKED=required, group_policy=isolate, resources1:VGPU=1, resources2:VGPU=2, "
        "trait1:CUSTOM_A100=required",
    },
    "flavor:pinned": {
        "vcpus": 4,
        "memory_mb": 2048,
        "disk_gb": 5,
        "extra_specs": "hw:cpu_policy=dedicated, hw:mem_page_size=2MB, pci_passthrough:alias=qat:1",
    },
    "flavor:odd": {"vcpus": 1, "memory_mb": 512, "extra_specs": "trait:CUSTOM_RACKED=required"},
    "pci": {"alias": '{"name": "qat", "vendor_id": "8086", "product_id": "0443", "numa_policy": "required"}'},
    "image:debian": {"id": "7", "properties": "hw_architecture=x86_64, trait:CUSTOM_RACKED=required"},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE, {"compute": AGENTS, "client": CLIENT}) as running:
        yield running


def gantt(cluster: RunningCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)


def boot(cluster: RunningCluster, *options: str) -> tuple[str, dict[str, dict[str, int]]]:
    """Boot one server; return its uuid and the allocations of its claim."""
    done = gantt(cluster, "server", "boot", *options, "--wait", "-f", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    (server,) = json.loads(done.stdout)
    (claim,) = cluster.session.call(cluster.session.claims.list_claims, consumer=server["uuid"]).claims
    assert claim["state"] == "confirmed"
    return server["uuid"], claim["allocations"]


def test_flavor_groups_are_isolated_and_hints_respected(cluster):
    first, allocations = boot(cluster, "--flavor", "gpus", "--image", "debian")
    root = next(name for name in allocations if "DISK_GB" in allocations[name])
    gpus = {name: amounts for name, amounts in allocations.items() if "VGPU" in amounts}
    assert sorted(amounts["VGPU"] for amounts in gpus.values()) == [1, 2]
    assert all(name.startswith(f"{root}/") for name in gpus)
    assert allocations[root] == {"DISK_GB": 5}

    _, other = boot(cluster, "--flavor", "gpus", "--image", "7", "--hint", f"different_host={first}")
    assert {host_of(name) for name in other}.isdisjoint({host_of(name) for name in allocations})
    _, beside = boot(cluster, "--flavor", "plain", "--hint", f"same_host={first}")
    assert {host_of(name) for name in beside} == {host_of(root)}


def test_pinned_flavor_gets_cpus_pages_and_device_in_one_cell(cluster):
    _, allocations = boot(cluster, "--flavor", "pinned", "--image", "debian")
    (cell,) = (name for name, amounts in allocations.items() if "PCPU" in amounts)
    (device,) = (name for name, amounts in allocations.items() if "CUSTOM_PCI_8086_0443" in amounts)
    assert allocations[cell] == {"PCPU": 4, "CUSTOM_MEMORY_PAGES_2048KB": 2048}
    assert device.startswith(f"{cell}/")


def test_port_bandwidth_is_allocated(cluster):
    _, allocations = boot(cluster, "--flavor", "plain", "--port", "egress_kbps=600,physnet=net0")
    assert sum(amounts.get("NET_BW_EGR_KILOBIT_PER_SEC", 0) for amounts in allocations.values()) == 600


def test_imported_flavor_and_image_of_the_cluster_are_booted_with(cluster, tmp_path):
    flavor = {"Name": "imported one", "VCPUs": 1, "RAM": 512, "Disk": 2, "Ephemeral": 1, "Swap": 0, "Properties": {}}
    images = [
        {"name": name, "id": identity, "properties": {f"trait:{trait}": "required"}}
        for name, identity, trait in (("racked", "8", "CUSTOM_RACKED"), ("nowhere", "9", "CUSTOM_NOWHERE"))
    ]
    for kind, rows in (("flavor", [flavor]), ("image", images)):
        path = tmp_path / f"{kind}.json"
        path.write_text(json.dumps(rows))
        done = gantt(cluster, kind, "import", str(path))
        assert done.returncode == 0, done.stderr
    _, allocations = boot(cluster, "--flavor", "imported one", "--image", "racked")
    assert sum(amounts.get("DISK_GB", 0) for amounts in allocations.values()) == 3
    done = gantt(cluster, "boot", "--flavor", "imported one", "--image", "nowhere", "--wait", "-f", "json")
    (server,) = json.loads(done.stdout)
    assert (server["status"], "trait" in server["reason"]) == ("ERROR", True), server["reason"]
    assert gantt(cluster, "flavor", "delete", "imported one").returncode == 0
    done = gantt(cluster, "boot", "--flavor", "imported one")
    assert (done.returncode, "Unknown flavor 'imported one'" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--flavor", "plain", "--property", "hw_architecture=ppc64le"), "image properties"),
        (("--flavor", "gpus", "--trait", "CUSTOM_NOWHERE"), "trait"),
    ],
)
def test_unavailable_property_or_trait_ends_in_error_with_reason(cluster, options, message):
    done = gantt(cluster, "boot", *options, "--wait", "-f", "json")
    assert done.returncode == 1
    (server,) = json.loads(done.stdout)
    assert server["status"] == "ERROR"
    assert message in server["reason"]


def recorded(cluster):
    """Return all instances and live claims; the position of the log moves with agents' reports, too."""
    instances = cluster.session.list_all(cluster.session.conductor.list_instances, "instances")
    return [instance.uuid for instance in instances], truth.claims(cluster)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--flavor", "odd", "--trait", "!CUSTOM_RACKED"), "requires and forbids CUSTOM_RACKED"),
        (("--flavor", "pinned", "--property", "hw_cpu_thread_policy=knit"), "cpu_thread_policy"),
        (("--flavor", "plain", "--property", "hw_numa_nodes=2"), "does not evenly divide 1 cpus"),
    ],
)
def test_contradictory_request_is_a_one_line_error(cluster, options, message):
    before = recorded(cluster)
    done = gantt(cluster, "boot", *options)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.strip().splitlines()
    assert message in line
    assert recorded(cluster) == before
