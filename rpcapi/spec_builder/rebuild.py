# SPDX-License-Identifier: Apache-2.0
"""Another image for a server with a claim: what flavor and image request together must stay."""

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
from rpcapi.spec_builder.pci_aliases import NUMA_POLICIES


def changed_fields(spec: RequestSpec, image: Mapping[str, Any]) -> list[str]:
    """Return the fields of ``spec`` that would differ with ``image``, or a device policy that would.

    Raises InvalidSpec if flavor and image contradict each other.
    """
    flavor = Flavor(
        spec.flavor or "",
        amount_of_flavor(spec, orc.VCPU),
        amount_of_flavor(spec, orc.MEMORY_MB),
        amount_of_flavor(spec, orc.DISK_GB),
        spec.extra_specs,
    )
    boots_from_volume = boot_volume(spec) is not None
    old, new = (_requested(flavor, Image.from_dict(fields), boots_from_volume) for fields in (spec.image, image))
    return [name for name in old if old[name] != new[name]]


def _requested(flavor: Flavor, image: Image, boots_from_volume: bool) -> dict[str, Any]:
    """Return what flavor and image request; devices and attachments of the flavor alone do not depend on an image."""
    flavor_image, draft = FlavorImageProperties(flavor, image), SpecDraft()
    extra_specs.translate(flavor_image, draft)
    features.translate(flavor_image, draft)
    topology.translate(flavor_image, draft, LARGE_PAGE_KB)  # equal on both sides, whatever "large" means
    add_defaults(flavor_image, draft, boots_from_volume)
    policy = flavor_image.value("pci_numa_affinity_policy", NUMA_POLICIES)
    return {**draft.spec_fields(), "pci_numa_affinity_policy": policy}
