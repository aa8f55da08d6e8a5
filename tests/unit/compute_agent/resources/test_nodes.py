# SPDX-License-Identifier: Apache-2.0
"""Hosts and nodes of configuration files."""

import socket
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.resources import nodes
from compute_agent.resources.nodes import HostPlan
from rpcapi import errors

Plan = Callable[[str], list[HostPlan]]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    def read(text: str) -> list[HostPlan]:
        path = tmp_path / "gantt.conf"
        path.write_text(textwrap.dedent(text))
        conf = cfg.ConfigOpts()
        compute_conf.register_opts(conf)
        conf(["--config-file", str(path)], project="gantt")
        return nodes.plan_hosts(conf)

    return read


def test_empty_configuration_is_one_host_with_one_node(plan: Plan) -> None:
    (host,) = plan("")
    assert host.name == socket.gethostname()
    assert [node.name for node in host.nodes] == [f"{host.name}/node0"]
    assert sorted(host.nodes[0].shape.inventories) == ["DISK_GB", "MEMORY_MB", "VCPU"]
    assert host.nodes[0].availability_zone == "nova"


def test_configuration_with_many_hosts_and_shapes(plan: Plan) -> None:
    plans = plan(
        """
        [compute]
        hosts = compute[00-19]
        nodes_per_host = 50
        availability_zones = az1,az2
        [shape:small]
        share = 3
        vcpus = 16
        cpu_allocation_ratio = 1.15
        reserved_vcpus = 1
        [shape:big]
        traits = HW_CPU_X86_AVX2,CUSTOM_FAST
        resources = VGPU:4,CUSTOM_FPGA:2
        availability_zone = az9
        """
    )
    assert [host.name for host in plans] == [f"compute{number:02}" for number in range(20)]
    all_nodes = [node for host in plans for node in host.nodes]
    assert len({node.name for node in all_nodes}) == 1000
    assert Counter(node.shape.name for node in all_nodes) == {"small": 750, "big": 250}
    # shapes are mixed within each host, and shared rather than copied
    assert all(len({node.shape.name for node in host.nodes}) == 2 for host in plans)
    assert len({id(node.shape) for node in all_nodes}) == 2

    small = next(node for node in plans[0].nodes if node.shape.name == "small")
    big = next(node for node in plans[0].nodes if node.shape.name == "big")
    assert small.shape.inventories["VCPU"].capacity == 17  # floor(15 * 1.15)
    assert big.shape.inventories["VGPU"].capacity == 4
    assert big.shape.inventories["CUSTOM_FPGA"].total == 2
    assert big.shape.traits == ("CUSTOM_FAST", "HW_CPU_X86_AVX2")
    assert (small.availability_zone, big.availability_zone) == ("az1", "az9")
    assert plans[1].nodes[0].availability_zone in ("az2", "az9")


def test_the_same_file_gives_the_same_nodes(plan: Plan) -> None:
    text = "[compute]\nhosts = a[0-3]\nnodes_per_host = 7\n[shape:x]\n[shape:y]\nshare = 2\n"
    assert plan(text) == plan(text)


SHARED = """
    [compute]
    hosts = {hosts}
    nodes_per_host = {nodes}
    availability_zones = az1,az2,az3
    [shape:small]
    share = 6
    [shape:memory]
    share = 3
    [shape:fast]
    availability_zone = az9
    """


def test_nodes_of_a_host_do_not_depend_on_the_process(plan: Plan) -> None:
    together = {host.name: host for host in plan(SHARED.format(hosts="host[00-19],alpha,beta", nodes=7))}
    apart = [plan(SHARED.format(hosts=hosts, nodes=7)) for hosts in ("beta", "host[11-19]", "alpha,host[00-10]")]
    assert {host.name: host for hosts in apart for host in hosts} == together


@pytest.mark.parametrize(("hosts", "nodes"), [("host[000-199]", 50), ("host[0-99]", 1), ("r[1-4]n[10-19]", 5)])
def test_numbered_hosts_get_exact_shares(plan: Plan, hosts: str, nodes: int) -> None:
    shapes = [node.shape.name for host in plan(SHARED.format(hosts=hosts, nodes=nodes)) for node in host.nodes]
    tenth = len(shapes) // 10
    assert Counter(shapes) == {"small": 6 * tenth, "memory": 3 * tenth, "fast": tenth}


def test_hosts_without_number_get_shapes_by_name_checksum(plan: Plan) -> None:
    words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrst"]
    kinds = Counter(host.nodes[0].shape.name for host in plan(SHARED.format(hosts=",".join(words), nodes=1)))
    # 256 names, of which six, three and one of ten are expected
    assert 0.5 < kinds["small"] / 256 < 0.7
    assert 0.2 < kinds["memory"] / 256 < 0.4
    assert 0.03 < kinds["fast"] / 256 < 0.2


def test_hosts_get_addresses_of_the_network(plan: Plan) -> None:
    hosts = plan("[compute]\nhosts = a[0-3],a253,a254\nnodes_per_host = 2\nhost_network = 10.0.0.0/24\n")
    addresses = {host.name: {node.host_ip for node in host.nodes} for host in hosts}
    assert addresses == {
        **{f"a{number}": {f"10.0.0.{number + 1}"} for number in range(4)},
        "a253": {"10.0.0.254"},
        "a254": {"10.0.0.1"},
    }
    ((node,),) = (host.nodes for host in plan("[compute]\nhosts = a7\nhost_network = fd00::/64\n"))
    assert node.host_ip == "fd00::8"
    ((node,),) = (host.nodes for host in plan("[compute]\nhosts = a7\n"))
    assert node.host_ip is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[compute]\nhosts = a[1-3],a2", "lists a host twice"),
        ("[compute]\nhosts = a[3-1]", "range that is empty"),
        ("[compute]\nhosts = a/b", "may not contain '/'"),
        ("[compute]\nhosts = a[0-999]\nnodes_per_host = 1000", "maximum of 100000 nodes"),
        ("[shape:x]\nreserved_memory_mb = 200000", r"\[shape:x\].*reserved 200000 exceeds the total"),
        ("[shape:x]\ntraits = FAST", r"\[shape:x\].*Unknown trait 'FAST'"),
        ("[shape:x]\nresources = GPUS:2", r"\[shape:x\].*Unknown resource class 'GPUS'"),
        ("[shape:x]\nvcpus = many", r"shape:x: .*vcpus.*invalid literal"),
        ("[shape:x]\nshare = 0", r"shape:x: .*share.*Should be greater"),
        ("[shape:x]\nshare = 1001", r"shape:x: .*share.*Should be less"),
        ("[shape:x]\ncpu_allocation_ratio = 1e9", r"\[shape:x\].*a number from 0 to 10000"),
    ],
)
def test_invalid_configuration_is_refused(plan: Plan, text: str, why: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=why):
        plan(text)
