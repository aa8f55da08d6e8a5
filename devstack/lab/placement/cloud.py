# SPDX-License-Identifier: Apache-2.0
"""Providers of both sides: flat, half-full hosts with traits, and a few hosts with child devices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.lab.hosts import stable_uuid
from rpcapi.resources.inventory import Inventory

TRAITS = 30
TRAITS_PER_HOST = 20
TOTAL = {"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 4_000}
RATIOS = {"VCPU": 16.0}
USED = {name: int(total * RATIOS.get(name, 1.0)) // 2 for name, total in TOTAL.items()}
FLAVOR = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}  # small, so that thousands of claims fit into the free half
DEVICE = "PGPU"
DEVICE_HOSTS, DEVICES, GROUPS = 10, 8, 5
LIMIT = 1_000  # [scheduler] max_placement_results, the limit in Nova's requests

CANDIDATES = f"/allocation_candidates?limit={LIMIT}&resources=" + ",".join(
    f"{name}:{amount}" for name, amount in FLAVOR.items()
)
DEVICE_CANDIDATES = f"/allocation_candidates?limit={LIMIT}&group_policy=none&" + "&".join(
    f"resources{number}={DEVICE}:1" for number in range(1, GROUPS + 1)
)


@dataclass(frozen=True, slots=True)
class Cloud:
    """``hosts`` flat hosts, and DEVICE_HOSTS hosts with DEVICES devices each."""

    hosts: int

    @property
    def flat(self) -> Sequence[str]:
        return [stable_uuid(f"host {number}") for number in range(self.hosts)]

    @property
    def size(self) -> int:
        return self.hosts + DEVICE_HOSTS * (DEVICES + 1)

    def providers(self) -> list[dict[str, Any]]:
        inventories = {name: whole(total, RATIOS.get(name, 1.0)) for name, total in TOTAL.items()}
        flat = [
            make_provider(name, inventories, [_trait(number + offset) for offset in range(TRAITS_PER_HOST)], used=USED)
            for number, name in enumerate(self.flat)
        ]
        roots = [stable_uuid(f"device host {number}") for number in range(DEVICE_HOSTS)]
        devices = [
            make_provider(stable_uuid(f"device {number} of {root}"), {DEVICE: whole(1)}, parent=root)
            for root in roots
            for number in range(DEVICES)
        ]
        return [*flat, *(make_provider(root, {}) for root in roots), *devices]


def _trait(number: int) -> str:
    return f"CUSTOM_LAB_{number % TRAITS}"


def make_provider(
    uuid_text: str,
    inventories: Mapping[str, Mapping[str, Any]],
    traits: Sequence[str] = (),
    *,
    parent: str | None = None,
    used: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return a provider in the form of placement_side.py, from inventories in the form of a host's report."""
    return {
        "uuid": uuid_text,
        "parent": parent,
        "root": parent or uuid_text,
        "inventories": {
            name: {key: value for key, value in unit.items() if key != "capacity"} for name, unit in inventories.items()
        },
        "used": dict(used or {}),
        "traits": sorted(traits),
        "aggregates": [],
    }


def whole(total: int, ratio: float = 1.0) -> dict[str, Any]:
    """Return an inventory that one allocation may use completely."""
    return Inventory(total, max_unit=int(total * ratio), allocation_ratio=ratio).as_dict()
