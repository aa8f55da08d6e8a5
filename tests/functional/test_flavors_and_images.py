# SPDX-License-Identifier: Apache-2.0
"""From flavor, image, group resources and hint to a claim and a guest, through a whole cluster by the command alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.cluster import ClusterSize
from rpcapi.model.names import host_of
from tests.functional import clusters
from tests.functional.clusters import Running

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
def cluster() -> Iterator[Running]:
    with clusters.running(SHAPE, {"compute": AGENTS, "client": CLIENT}) as running:
        yield running


def gantt(cluster: Running, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("gantt")), "--config-file", str(cluster.cluster.client_conf)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)


def boot(cluster: Running, *options: str) -> tuple[str, dict[str, dict[str, int]]]:
    """Boot one server to its end; return its uuid, and what its claim holds of which provider."""
    done = gantt(cluster, "server", "boot", *options, "--wait", "-f", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    (server,) = json.loads(done.stdout)
    (claim,) = cluster.session.call(cluster.session.claims.list_claims, consumer=server["uuid"]).claims
    assert claim["state"] == "confirmed"
    return server["uuid"], claim["allocations"]


def test_groups_of_the_flavor_are_served_apart_and_the_hint_is_kept(cluster):
    first, held = boot(cluster, "--flavor", "gpus", "--image", "debian")
    root = next(name for name in held if "DISK_GB" in held[name])
    gpus = {name: amounts for name, amounts in held.items() if "VGPU" in amounts}
    assert sorted(amounts["VGPU"] for amounts in gpus.values()) == [1, 2]
    assert all(name.startswith(f"{root}/") for name in gpus)
    assert held[root] == {"DISK_GB": 5}

    _, other = boot(cluster, "--flavor", "gpus", "--image", "7", "--hint", f"different_host={first}")
    assert {host_of(name) for name in other}.isdisjoint({host_of(name) for name in held})
    _, beside = boot(cluster, "--flavor", "plain", "--hint", f"same_host={first}")
    assert {host_of(name) for name in beside} == {host_of(root)}


def test_a_pinned_flavor_has_its_cpus_pages_and_device_in_one_cell(cluster):
    _, held = boot(cluster, "--flavor", "pinned", "--image", "debian")
    (cell,) = (name for name, amounts in held.items() if "PCPU" in amounts)
    (device,) = (name for name, amounts in held.items() if "CUSTOM_PCI_8086_0443" in amounts)
    assert held[cell] == {"PCPU": 4, "CUSTOM_MEMORY_PAGES_2048KB": 2048}
    assert device.startswith(f"{cell}/")


def test_a_port_takes_its_bandwidth_of_its_network(cluster):
    _, held = boot(cluster, "--flavor", "plain", "--port", "egress_kbps=600,physnet=net0")
    assert sum(amounts.get("NET_BW_EGR_KILOBIT_PER_SEC", 0) for amounts in held.values()) == 600


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--flavor", "plain", "--property", "hw_architecture=ppc64le"), "image properties"),
        (("--flavor", "gpus", "--trait", "CUSTOM_NOWHERE"), "trait"),
    ],
)
def test_what_no_host_has_ends_in_error_with_the_reason(cluster, options, says):
    done = gantt(cluster, "boot", *options, "--wait", "-f", "json")
    assert done.returncode == 1
    (server,) = json.loads(done.stdout)
    assert server["status"] == "ERROR"
    assert says in server["reason"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--flavor", "odd", "--trait", "!CUSTOM_RACKED"), "requires and forbids CUSTOM_RACKED"),
        (("--flavor", "pinned", "--property", "hw_cpu_thread_policy=knit"), "cpu_thread_policy"),
        (("--flavor", "plain", "--property", "hw_numa_nodes=2"), "does not divide 1 cpus"),
    ],
)
def test_what_contradicts_itself_is_one_line_and_changes_nothing(cluster, options, says):
    before = cluster.session.call(cluster.session.claims.verify).position
    done = gantt(cluster, "boot", *options)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.strip().splitlines()
    assert says in line
    assert cluster.session.call(cluster.session.claims.verify).position == before
