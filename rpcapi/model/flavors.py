# SPDX-License-Identifier: Apache-2.0
"""Flavors: named shapes of servers, translated into a request spec once, at the edge."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import os_resource_classes as orc

from rpcapi import errors
from rpcapi.model import request
from rpcapi.objects.request_spec import RequestSpec

TRAIT = "trait:"
RESOURCES = "resources:"
REQUIRED = "required"
FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Flavor:
    """A shape of server; amounts of 0 are not asked for.

    ``extra_specs`` as in Nova: ``trait:NAME`` is "required" or "forbidden"; ``resources:CLASS`` is an amount that
    takes the place of what the flavor says of that class, where 0 removes it.
    """

    name: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    extra_specs: Mapping[str, str] = field(default_factory=dict)

    def resources(self) -> dict[str, int]:
        """Return what one server takes, by resource class; raises InvalidSpec on an extra spec that is none."""
        amounts = {orc.VCPU: self.vcpus, orc.MEMORY_MB: self.memory_mb, orc.DISK_GB: self.disk_gb}
        for key, value in self.extra_specs.items():
            if key.startswith(RESOURCES):
                amounts[key.removeprefix(RESOURCES)] = self._amount(key, value)
        return {resource_class: amount for resource_class, amount in amounts.items() if amount}

    def traits(self, kind: str) -> list[str]:
        """Return the traits that are REQUIRED, or FORBIDDEN; raises InvalidSpec on an extra spec that is none."""
        found = []
        for key, value in self.extra_specs.items():
            if key.startswith(TRAIT):
                if value not in (REQUIRED, FORBIDDEN):
                    raise self._refuse(key, f"must be {REQUIRED!r} or {FORBIDDEN!r}, not {value!r}")
                if value == kind:
                    found.append(key.removeprefix(TRAIT))
            elif not key.startswith(RESOURCES):
                raise self._refuse(key, f"is not known; known are '{TRAIT}NAME' and '{RESOURCES}CLASS'")
        return found

    def request(
        self, *, required_traits: Iterable[str] = (), forbidden_traits: Iterable[str] = (), **values: Any
    ) -> RequestSpec:
        """Return the spec of a server of this flavor, checked; ``values`` are its other fields.

        Raises what rpcapi.model.request.check_spec raises.
        """
        spec = RequestSpec.of(
            flavor=self.name,
            resources=self.resources(),
            required_traits=_once([*self.traits(REQUIRED), *required_traits]),
            forbidden_traits=_once([*self.traits(FORBIDDEN), *forbidden_traits]),
            **values,
        )
        request.check_spec(spec)
        return spec

    def _amount(self, key: str, value: str) -> int:
        if not (value.isascii() and value.isdigit()):
            raise self._refuse(key, f"must be an integer from 0 up, not {value!r}")
        return int(value)

    def _refuse(self, key: str, why: str) -> errors.InvalidSpec:
        return errors.InvalidSpec(why=f"extra spec {key!r} of flavor {self.name!r} {why}")


BUILT_IN = {
    flavor.name: flavor
    for flavor in (
        Flavor("m1.tiny", vcpus=1, memory_mb=512, disk_gb=1),
        Flavor("m1.small", vcpus=1, memory_mb=2048, disk_gb=20),
        Flavor("m1.medium", vcpus=2, memory_mb=4096, disk_gb=40),
        Flavor("m1.large", vcpus=4, memory_mb=8192, disk_gb=80),
        Flavor("m1.xlarge", vcpus=8, memory_mb=16384, disk_gb=160),
    )
}


def find(flavors: Mapping[str, Flavor], name: str) -> Flavor:
    """Return the flavor of that name; raises UnknownFlavor, which names those that there are."""
    try:
        return flavors[name]
    except KeyError:
        raise errors.UnknownFlavor(name=name, known=", ".join(sorted(flavors))) from None


def _once(traits: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(traits))
