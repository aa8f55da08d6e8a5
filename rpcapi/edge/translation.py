# SPDX-License-Identifier: Apache-2.0
"""A flavor, an image and what hangs on a server, as one request spec."""

from collections.abc import Iterable, Sequence
from typing import Any

import os_resource_classes as orc

from rpcapi import errors
from rpcapi.edge import devices, extra_specs, features, pci, ports, topology, volumes
from rpcapi.edge.asked import Asked
from rpcapi.edge.catalog import EMPTY, Catalog
from rpcapi.edge.draft import FORBIDDEN, Draft
from rpcapi.edge.ports import Port
from rpcapi.edge.volumes import Volume
from rpcapi.model.request import check_spec
from rpcapi.objects.request_spec import RequestSpec


def translate(
    asked: Asked,
    catalog: Catalog = EMPTY,
    *,
    attached_volumes: Sequence[Volume] = (),
    attached_ports: Sequence[Port] = (),
    required_traits: Iterable[str] = (),
    forbidden_traits: Iterable[str] = (),
    **values: Any,
) -> RequestSpec:
    """Return the spec of a server, checked; ``values`` are its other fields.

    Raises what rpcapi.model.request.check_spec raises, and InvalidSpec where flavor and image contradict themselves
    or each other.
    """
    boots_from_volume = any(volume.boot for volume in attached_volumes)
    _check_image_fits(asked, boots_from_volume)
    draft = Draft()
    extra_specs.translate(asked, draft)
    features.translate(asked, draft)
    topology.translate(asked, draft, catalog.large_page_kb)
    pci.translate(asked, draft, catalog.aliases)
    devices.translate(asked, draft, catalog.profiles)
    told_ports = ports.translate(attached_ports, draft)
    _add_defaults(asked, draft, boots_from_volume)
    for name in required_traits:
        draft.trait(name)
    for name in forbidden_traits:
        draft.trait(name, FORBIDDEN)
    told_volumes = volumes.translate(attached_volumes, draft)
    image = asked.image.as_dict()
    if boots_from_volume:
        image.pop("disk_format", None)  # a volume has none: no host needs to know the image's
    spec = draft.spec(
        flavor=asked.flavor.name,
        image=image,
        extra_specs=dict(asked.flavor.extra_specs),
        volumes=told_volumes,
        ports=told_ports,
        **values,
    )
    check_spec(spec)
    return spec


def _add_defaults(asked: Asked, draft: Draft, boots_from_volume: bool) -> None:
    """Ask for what the flavor says of each class that nothing has named; the cells of a topology have named theirs."""
    named, flavor = draft.merged(), asked.flavor
    if orc.VCPU not in named and orc.PCPU not in named:
        draft.amount(orc.VCPU, flavor.vcpus)
    if orc.MEMORY_MB not in named:
        draft.amount(orc.MEMORY_MB, flavor.memory_mb)
    if orc.DISK_GB not in named and not boots_from_volume:
        draft.amount(orc.DISK_GB, flavor.disk_gb)


def _check_image_fits(asked: Asked, boots_from_volume: bool) -> None:
    flavor, image = asked.flavor, asked.image
    for what, has, needs in (
        ("MiB of memory", flavor.memory_mb, image.min_ram_mb),
        ("GiB of disk", flavor.disk_gb, 0 if boots_from_volume else image.min_disk_gb),
    ):
        if has < needs:
            raise errors.InvalidSpec(
                why=f"image {image.name!r} needs {needs} {what}, and flavor {flavor.name!r} has {has}"
            )
