# SPDX-License-Identifier: Apache-2.0
"""Translation of flavor, image, volumes and ports into a request spec."""

from collections.abc import Iterable, Sequence
from typing import Any

import os_resource_classes as orc

from rpcapi.objects.request_schema import check_spec
from rpcapi.objects.request_spec import RequestSpec
from rpcapi.spec_builder import attachments, device_profiles, extra_specs, features, pci, topology
from rpcapi.spec_builder.attachments import Port, Volume
from rpcapi.spec_builder.catalog import EMPTY, Catalog
from rpcapi.spec_builder.draft import FORBIDDEN, FlavorImageProperties, SpecDraft
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import NO_IMAGE, Image


def build_spec(
    flavor: Flavor,
    image: Image = NO_IMAGE,
    catalog: Catalog = EMPTY,
    *,
    attached_volumes: Sequence[Volume] = (),
    attached_ports: Sequence[Port] = (),
    required_traits: Iterable[str] = (),
    forbidden_traits: Iterable[str] = (),
    **values: Any,
) -> RequestSpec:
    """Return a server's checked request spec with further fields ``values``. Raises the errors of check_spec."""
    flavor_image = FlavorImageProperties(flavor, image)
    boots_from_volume = any(volume.boot for volume in attached_volumes)
    draft = SpecDraft()
    extra_specs.translate(flavor_image, draft)
    features.translate(flavor_image, draft)
    topology.translate(flavor_image, draft, catalog.large_page_kb)
    pci.translate(flavor_image, draft, catalog.aliases)
    device_profiles.translate(flavor_image, draft, catalog.profiles)
    spec_ports = attachments.translate_ports(attached_ports, draft)
    add_defaults(flavor_image, draft, boots_from_volume)
    for name in required_traits:
        draft.add_trait(name)
    for name in forbidden_traits:
        draft.add_trait(name, FORBIDDEN)
    spec_volumes = attachments.translate_volumes(attached_volumes, draft)
    image_fields = image.as_dict()
    if boots_from_volume:
        image_fields.pop("disk_format", None)  # a volume has no disk format, so hosts need not support the image's
    spec = RequestSpec.of(
        **draft.spec_fields(),
        flavor=flavor.name,
        flavor_amounts={name: amount for name, amount in flavor.amounts.items() if amount},
        image=image_fields,
        extra_specs=dict(flavor.extra_specs),
        volumes=spec_volumes,
        ports=spec_ports,
        **values,
    )
    check_spec(spec)
    return spec


def add_defaults(flavor_image: FlavorImageProperties, draft: SpecDraft, boots_from_volume: bool) -> None:
    """Add the flavor's amounts of resource classes that are not requested yet, for example by NUMA cells."""
    requested, flavor = draft.total_resources(), flavor_image.flavor
    if orc.VCPU not in requested and orc.PCPU not in requested:
        draft.add_amount(orc.VCPU, flavor.vcpus)
    if orc.MEMORY_MB not in requested:
        draft.add_amount(orc.MEMORY_MB, flavor.memory_mb)
    if orc.DISK_GB not in requested and not boots_from_volume:
        draft.add_amount(orc.DISK_GB, flavor.disk_gb)
