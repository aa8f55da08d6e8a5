# SPDX-License-Identifier: Apache-2.0
"""The providers that both sides hold: flat hosts, half full, with traits, and a few hosts with devices below them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TRAITS = 30
TRAITS_PER_HOST = 20
TOTAL = {"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 4_000}
RATIOS = {"VCPU": 16.0}
USED = {name: int(total * RATIOS.get(name, 1.0)) // 2 for name, total in TOTAL.items()}
FLAVOR = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}  # so small that thousands of claims fit beside what is used
DEVICE = "PGPU"
DEVICE_HOSTS, DEVICES, GROUPS = 10, 8, 5
LIMIT = 1_000  # [scheduler] max_placement_results: what Nova asks Placement for

CANDIDATES = f"/allocation_candidates?limit={LIMIT}&resources=" + ",".join(
    f"{name}:{amount}" for name, amount in FLAVOR.items()
)
DEVICE_CANDIDATES = f"/allocation_candidates?limit={LIMIT}&group_policy=none&" + "&".join(
    f"resources{number}={DEVICE}:1" for number in range(1, GROUPS + 1)
)


@dataclass(frozen=True, slots=True)
class Cloud:
    """``hosts`` flat hosts, and DEVICE_HOSTS hosts with DEVICES devices each; the same for the same number."""

    hosts: int

    @property
    def flat(self) -> Sequence[str]:
        """The uuids of the flat hosts."""
        return [_uuid(f"host {number}") for number in range(self.hosts)]

    @property
    def size(self) -> int:
        """The number of providers."""
        return self.hosts + DEVICE_HOSTS * (DEVICES + 1)

    def providers(self) -> list[dict[str, Any]]:
        """Return all providers, parents before their children.

        Each is {"uuid", "parent" (a uuid or None), "root", "inventories" {class: {total, ...}}, "used" {class: amount},
        "traits", "aggregates"}.
        """
        flat = [
            _provider(name, None, TOTAL, USED, [_trait(number + offset) for offset in range(TRAITS_PER_HOST)])
            for number, name in enumerate(self.flat)
        ]
        roots = [_uuid(f"device host {number}") for number in range(DEVICE_HOSTS)]
        devices = [
            _provider(_uuid(f"device {number} of {root}"), root, {DEVICE: 1}, {}, [])
            for root in roots
            for number in range(DEVICES)
        ]
        return [*flat, *(_provider(root, None, {}, {}, []) for root in roots), *devices]


def _uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"gantt-lab placement {name}"))


def _trait(number: int) -> str:
    return f"CUSTOM_LAB_{number % TRAITS}"


def _provider(
    uuid_text: str, parent: str | None, total: Mapping[str, int], used: Mapping[str, int], traits: Sequence[str]
) -> dict[str, Any]:
    return {
        "uuid": uuid_text,
        "parent": parent,
        "root": parent or uuid_text,
        "inventories": {name: _inventory(amount, RATIOS.get(name, 1.0)) for name, amount in total.items()},
        "used": dict(used),
        "traits": sorted(traits),
        "aggregates": [],
    }


def _inventory(total: int, ratio: float) -> dict[str, Any]:
    return {
        "total": total,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": int(total * ratio),
        "step_size": 1,
        "allocation_ratio": ratio,
    }
