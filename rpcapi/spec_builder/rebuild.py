# SPDX-License-Identifier: Apache-2.0
"""What flavor and image request: a rebuild's image must leave it the same, a resize replaces it."""

from collections.abc import Mapping
from typing import Any

import os_resource_classes as orc

from rpcapi.objects.request_schema import amount_of_flavor, boot_volume
from rpcapi.objects.request_spec import RequestSpec
from rpcapi.spec_builder import extra_specs, features, topology
from rpcapi.spec_builder.builder import add_defaults
from rpcapi.spec_builder.catalog import LARGE_PAGE_KB
from rpcapi.spec_builder.draft import FlavorImageProperties, SpecDraft
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image
from rpcapi.spec_builder.pci import NUMA_POLICIES

TRAITS = ("required_traits", "forbidden_traits")


def changed_fields(spec: RequestSpec, image: Mapping[str, Any]) -> list[str]:
    """Return spec fields, or the device policy, that ``image`` would change. Raises InvalidSpec."""
    old, new = (_requested(spec, fields) for fields in (spec.image, image))
    return [name for name in old if old[name] != new[name]]


def own_traits(spec: RequestSpec) -> dict[str, list[str]]:
    """Return the required and forbidden traits that neither flavor nor image request. Raises InvalidSpec."""
    requested = _requested(spec, spec.image)
    return {name: [trait for trait in getattr(spec, name) if trait not in requested[name]] for name in TRAITS}


def _requested(spec: RequestSpec, image: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that an image can change in a request; devices and attachments depend on the flavor alone."""
    flavor = Flavor(
        spec.flavor or "",
        amount_of_flavor(spec, orc.VCPU),
        amount_of_flavor(spec, orc.MEMORY_MB),
        amount_of_flavor(spec, orc.DISK_GB),
        spec.extra_specs,
    )
    boots_from_volume = boot_volume(spec) is not None
    flavor_image, draft = FlavorImageProperties(flavor, Image.from_dict(image)), SpecDraft()
    extra_specs.translate(flavor_image, draft)
    features.translate(flavor_image, draft)
    topology.translate(flavor_image, draft, LARGE_PAGE_KB)  # any page size, equal on both sides
    add_defaults(flavor_image, draft, boots_from_volume)
    policy = flavor_image.value("pci_numa_affinity_policy", NUMA_POLICIES)
    return {**draft.spec_fields(), "pci_numa_affinity_policy": policy}
