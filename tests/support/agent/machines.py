# SPDX-License-Identifier: Apache-2.0
"""Node shapes from configuration files."""

import tempfile
import textwrap
from pathlib import Path

from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.attempt import Attempt, Stage
from compute_agent.resources import nodes
from compute_agent.resources.nodes import HostPlan, Node

NODE = "alpha/node0"

# Two cells of eight CPUs in cores of two threads; of each cell one core is shared.
BIG = """
    [compute]
    hosts = alpha
    [shape:big]
    vcpus = 16
    memory_mb = 16384
    reserved_memory_mb = 0
    cpu_allocation_ratio = 2.0
    numa_cells = 2
    threads_per_core = 2
    cpu_dedicated_set = 1-3,5-7,9-11,13-15
    huge_pages = 2048:512,1048576:2
    pci_devices = nic:1@0,nic:1@1,card:1
    devices = gpu:1@1
    [pci_device:nic]
    vendor_id = 8086
    product_id = 154d
    functions = 4
    physical_network = physnet-0
    [pci_device:card]
    vendor_id = 10de
    product_id = 20b5
    [device:gpu]
    resource_class = VGPU
    instances = 3
    traits = CUSTOM_A100
"""


def plan_file(text: str) -> list[HostPlan]:
    """Return the hosts of a configuration file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gantt.conf"
        path.write_text(textwrap.dedent(text))
        conf = cfg.ConfigOpts()
        compute_conf.register_opts(conf)
        conf(["--config-file", str(path)], project="gantt")
        return nodes.plan_hosts(conf)


def node(text: str = BIG) -> Node:
    """Return the only node of such a file."""
    ((only_node,),) = (host.nodes for host in plan_file(text))
    return only_node


def intent(uuid: str, **amounts: dict[str, int]) -> Attempt:
    """Return an intent on the only node; ``amounts`` by path, where "_" stands for the node."""
    allocations = {NODE if path == "_" else f"{NODE}/{path}": path_amounts for path, path_amounts in amounts.items()}
    return Attempt(uuid, 1, Stage.INTENT, 0, name=NODE, allocations=allocations)
