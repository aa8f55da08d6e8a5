# SPDX-License-Identifier: Apache-2.0
"""An empty host takes a pinned guest whose devices must be near its cells, however many cells the host has.

The search used to judge the nearness of devices on complete candidates only. Each wrong choice of cells cost all
combinations of devices, so that eight of these cases were refused.
"""

from typing import NamedTuple

import pytest

from compute_agent.attempt import Attempt
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget
from rpcapi.resources.trees.tree import AllocationCandidate
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.pci import PciAlias
from tests.support.clouds.tracked_host import TrackedHost

# CPUs and memory of each cell.
CPUS, MEMORY_MB = 4, 8192
ALIASES = {
    "port": PciAlias("port", "CUSTOM_PCI_15B3_1017"),
    "card": PciAlias("card", "CUSTOM_PCI_10DE_26B9"),
}
HOST = """
    [compute]
    hosts = host
    [shape:big]
    vcpus = {cpus}
    memory_mb = {memory_mb}
    reserved_memory_mb = 0
    numa_cells = {cells}
    cpu_dedicated_set = 0-{last_cpu}
    pci_devices = {devices}
    [pci_device:port]
    vendor_id = 15b3
    product_id = 1017
    functions = 8
    [pci_device:card]
    vendor_id = 10de
    product_id = 26b9
"""


class Case(NamedTuple):
    """Cells of the host, each with ports; its cells with a card; cells, ports and cards of the guest."""

    cells: int
    card_cells: tuple[int, ...]
    guest_cells: int
    ports: int
    cards: int

    def host(self) -> TrackedHost:
        devices = [f"port:1@{cell}" for cell in range(self.cells)] + [f"card:1@{cell}" for cell in self.card_cells]
        return TrackedHost(
            HOST.format(
                cpus=self.cells * CPUS,
                memory_mb=self.cells * MEMORY_MB,
                cells=self.cells,
                last_cpu=self.cells * CPUS - 1,
                devices=",".join(devices),
            )
        )

    def flavor(self, policy: str | None) -> Flavor:
        extra_specs = {
            "hw:cpu_policy": "dedicated",
            "hw:numa_nodes": str(self.guest_cells),
            "pci_passthrough:alias": f"port:{self.ports},card:{self.cards}",
        }
        if policy is not None:
            extra_specs["hw:pci_numa_affinity_policy"] = policy
        return Flavor("pinned", 2 * self.guest_cells, 1024 * self.guest_cells, 0, extra_specs)


ALL_EIGHT = tuple(range(8))


@pytest.mark.parametrize("policy", [None, "required"])
@pytest.mark.parametrize(
    "case",
    [
        Case(cells=2, card_cells=(1,), guest_cells=1, ports=1, cards=1),
        Case(cells=2, card_cells=(0, 0, 1, 1), guest_cells=1, ports=2, cards=2),
        Case(cells=2, card_cells=(0, 0, 0, 0, 1, 1, 1, 1), guest_cells=1, ports=8, cards=4),
        Case(cells=4, card_cells=(3,), guest_cells=1, ports=2, cards=1),
        Case(cells=4, card_cells=(3,), guest_cells=1, ports=4, cards=1),
        Case(cells=4, card_cells=(3,), guest_cells=2, ports=4, cards=1),
        Case(cells=8, card_cells=(7,), guest_cells=1, ports=2, cards=1),
        Case(cells=8, card_cells=(7,), guest_cells=1, ports=4, cards=1),
        Case(cells=8, card_cells=(7,), guest_cells=2, ports=2, cards=1),
        Case(cells=8, card_cells=(7,), guest_cells=2, ports=4, cards=1),
        Case(cells=8, card_cells=ALL_EIGHT, guest_cells=2, ports=4, cards=2),
        Case(cells=8, card_cells=(7,), guest_cells=4, ports=4, cards=1),
        Case(cells=8, card_cells=ALL_EIGHT, guest_cells=4, ports=4, cards=4),
        Case(cells=16, card_cells=(1,), guest_cells=8, ports=7, cards=1),
    ],
    ids=lambda case: f"{case.cells}-{case.guest_cells}-{case.ports}-{case.cards}",
)
def test_empty_host_takes_the_guest_without_a_detour(case: Case, policy: str | None) -> None:
    spec = build_spec(case.flavor(policy), catalog=Catalog(aliases=ALIASES))
    steps = StepBudget(2 * len(spec.groups) + len(spec.resources))
    candidate = case.host().find_allocation(spec, steps)
    assert isinstance(candidate, AllocationCandidate), str(candidate)


@pytest.mark.parametrize("policy", [None, "required"])
def test_host_without_room_beside_its_card_is_refused_at_once(policy: str | None) -> None:
    case = Case(cells=8, card_cells=(0,), guest_cells=1, ports=4, cards=1)
    host = case.host()
    whole_cell = build_spec(Flavor("cell", CPUS, 1024, 0, {"hw:cpu_policy": "dedicated"}))
    candidate = host.find_allocation(whole_cell)
    assert isinstance(candidate, AllocationCandidate), str(candidate)
    attempt = host.admit(0, whole_cell, candidate.allocations)
    assert isinstance(attempt, Attempt), attempt
    host.tracker.hold(attempt)
    spec = build_spec(case.flavor(policy), catalog=Catalog(aliases=ALIASES))
    assert host.find_allocation(spec, StepBudget(8)) is NoCandidateReason.NONE
