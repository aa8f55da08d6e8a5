# SPDX-License-Identifier: Apache-2.0
"""Flavors: named shapes of servers, translated into a request spec once, at the edge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi import errors
from rpcapi.edge import translation
from rpcapi.edge.asked import Asked
from rpcapi.edge.catalog import EMPTY, Catalog
from rpcapi.model.images import NO_IMAGE, Image
from rpcapi.objects.request_spec import RequestSpec


@dataclass(frozen=True, slots=True)
class Flavor:
    """A shape of server; amounts of 0 are not asked for.

    ``extra_specs`` as in Nova, all of them texts; docs/requests.md tells what becomes of each.
    """

    name: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    extra_specs: Mapping[str, str] = field(default_factory=dict)

    def resources(self) -> dict[str, int]:
        """Return what one server takes of its host itself, by resource class; raises what ``request`` raises."""
        return dict(self.request().resources)

    def request(self, image: Image = NO_IMAGE, catalog: Catalog = EMPTY, **values: Any) -> RequestSpec:
        """Return the spec of a server of this flavor, checked; ``values`` as rpcapi.edge.translation takes them.

        Raises what rpcapi.model.request.check_spec raises, and InvalidSpec for extra specs and image properties that
        make no sense, alone or together.
        """
        return translation.translate(Asked(self, image), catalog, **values)


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
