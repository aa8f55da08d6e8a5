# SPDX-License-Identifier: Apache-2.0
"""Of two devices of one kind, the near one serves the group that needs it, whichever group comes first.

Groups that differ only by their NUMA policy counted as interchangeable, so that one of their assignments was tried.
"""

import pytest

from compute_agent.attempt import Attempt
from rpcapi.resources.trees.tree import AllocationCandidate
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.pci import PciAlias
from tests.support.clouds.tracked_host import TrackedHost

PORT = "CUSTOM_PCI_15B3_1017"
ALIASES = {policy: PciAlias(policy, PORT, numa_policy=policy) for policy in ("required", "preferred")}
HOST = """
    [compute]
    hosts = host
    [shape:big]
    vcpus = 12
    memory_mb = 12288
    reserved_memory_mb = 0
    numa_cells = 3
    cpu_dedicated_set = {dedicated}
    pci_devices = port:1@0,port:1@2
    [pci_device:port]
    vendor_id = 15b3
    product_id = 1017
    functions = 1
"""


@pytest.mark.parametrize("dedicated", ["0-7", "4-11"])
@pytest.mark.parametrize("aliases", ["required:1,preferred:1", "preferred:1,required:1"])
def test_near_device_serves_the_group_that_needs_it(dedicated: str, aliases: str) -> None:
    host = TrackedHost(HOST.format(dedicated=dedicated))
    extra_specs = {"hw:cpu_policy": "dedicated", "hw:numa_nodes": "2", "pci_passthrough:alias": aliases}
    spec = build_spec(Flavor("pinned", 2, 1024, 0, extra_specs), catalog=Catalog(aliases=ALIASES))
    candidate = host.find_allocation(spec)
    assert isinstance(candidate, AllocationCandidate), candidate
    assert isinstance(host.admit(0, spec, candidate.allocations), Attempt)
