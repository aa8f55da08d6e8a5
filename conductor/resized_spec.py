# SPDX-License-Identifier: Apache-2.0
"""Request spec of a resized server: new flavor, same placement and attachments."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import os_resource_classes as orc

from rpcapi import errors, objects
from rpcapi.objects.request_schema import amount_of_flavor, attached_groups, boot_volume
from rpcapi.resources.groups import NONE
from rpcapi.spec_builder.extra_specs import RESOURCES
from rpcapi.spec_builder.rebuild import own_traits

OF_FLAVOR = (
    *("flavor", "flavor_amounts", "extra_specs", "resources", "required_traits", "forbidden_traits"),
    *("root_required", "root_forbidden", "groups", "groups_policy", "same_subtree", "numa"),
)

# Extra spec that replaces the flavor's disk; a server that boots from a volume has this disk too.
DISK_REQUEST = f"{RESOURCES}:{orc.DISK_GB}"


def resize_spec(spec: objects.RequestSpec, flavor: objects.RequestSpec) -> objects.RequestSpec:
    """Return ``spec`` with the resources, traits and topology of ``flavor``.

    Keeps the groups of volumes and ports, and the traits that neither the former flavor nor the image requested. If the
    server boots from a volume, it has no disk, unless an extra spec of the flavor requests one. Raises InvalidSpec if a
    group of the flavor has the suffix of a volume or port, or if its disk is smaller.
    """
    _check_disk(spec, flavor)
    attached = attached_groups(spec)
    kept_groups = {suffix: group for suffix, group in spec.groups.items() if suffix in attached}
    for suffix in kept_groups.keys() & flavor.groups.keys():
        raise errors.InvalidSpec(why=f"the new flavor has group {suffix!r}, which a volume or port of the server uses")
    groups = {**flavor.groups, **kept_groups}
    policy = flavor.groups_policy if flavor.groups_policy or len(groups) < 2 else NONE
    resources = dict(flavor.resources)
    if boot_volume(spec) is not None and DISK_REQUEST not in flavor.extra_specs:
        resources.pop(orc.DISK_GB, None)
    values = {name: getattr(flavor, name) for name in OF_FLAVOR}
    values |= {"resources": resources, "groups": groups, "groups_policy": policy}
    values |= {name: list(dict.fromkeys([*values[name], *own])) for name, own in own_traits(spec).items()}
    return spec.with_values(**values, requested_destination={})


def flavor_with_image(
    flavors: Iterable[objects.RequestSpec], image: Mapping[str, Any], instance: str
) -> objects.RequestSpec:
    for flavor in flavors:
        if flavor.image == image:
            return flavor
    raise errors.InvalidSpec(why=f"no spec of the new flavor has the image of instance {instance}")


def _check_disk(spec: objects.RequestSpec, flavor: objects.RequestSpec) -> None:
    before, after = (amount_of_flavor(size, orc.DISK_GB) for size in (spec, flavor))
    if after < before and boot_volume(spec) is None:
        why = f"flavor {flavor.flavor!r} has {after} GiB of disk, and the server has {before}: a resize shrinks no disk"
        raise errors.InvalidSpec(why=why)


def larger_amounts(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the larger amount of each name: quota must cover both confirm and revert."""
    return dict(Counter(before) | Counter(after))
