# SPDX-License-Identifier: Apache-2.0
"""Translation of flavor, image and request groups in a Nova request, like Nova's own for Placement.

Guest NUMA cells become no request groups, because nova-compute creates no providers for host cells.
"""

import math
from collections.abc import Sequence

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.groups import RequestGroup, freeze
from rpcapi.resources.numa.topology import DevicePolicy
from rpcapi.spec_builder import builder, cpus, extra_specs, features, pci
from rpcapi.spec_builder.draft import FORBIDDEN, REQUIRED, FlavorImageProperties, SpecDraft
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.validation import topology
from scheduler_svc.nova.bus.primitives import NovaFields

MIB_PER_GIB = 1024


def read_flavor(flavor: NovaFields, *, boots_from_volume: bool) -> Flavor:
    """Return the flavor with its local disk only: a root disk on a volume does not count."""
    root_gb = 0 if boots_from_volume else flavor.integer("root_gb")
    swap_gb = math.ceil(flavor.integer("swap", 0) / MIB_PER_GIB)
    extra_specs_by_key = flavor.mapping("extra_specs")
    return Flavor(
        flavor.text("name"),
        flavor.integer("vcpus"),
        flavor.integer("memory_mb"),
        root_gb + flavor.integer("ephemeral_gb", 0) + swap_gb,
        {key: value for key, value in extra_specs_by_key.items() if value is not None},
    )


def draft(flavor_image: FlavorImageProperties, groups: Sequence[RequestGroup], *, pins_cpus: bool = True) -> SpecDraft:
    """Return a spec draft with the request groups of flavor and image, and ``groups``.

    With ``pins_cpus`` False, guests with dedicated CPUs request VCPU: for computes that do not report PCPU. Raises
    InvalidSpec.
    """
    result = SpecDraft()
    extra_specs.translate(flavor_image, result)
    if pins_cpus:
        _pin_cpus(flavor_image, result)
    for group in groups:
        result.add_group(group)
    builder.add_defaults(flavor_image, result, boots_from_volume=False)
    features.translate(flavor_image, result)
    if flavor_image.value("pci_numa_affinity_policy", pci.NUMA_POLICIES) == DevicePolicy.SOCKET:
        result.add_trait(os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY)
    return result


def has_dedicated_cpus(flavor_image: FlavorImageProperties) -> bool:
    """Return whether all CPUs are dedicated, so that the request needs a fallback with VCPU."""
    policy = flavor_image.flavor_value("cpu_policy") or flavor_image.image_value("cpu_policy")
    return policy == topology.DEDICATED


def _pin_cpus(flavor_image: FlavorImageProperties, draft: SpecDraft) -> None:
    is_explicit = any(draft.unsuffixed.get(resource_class) for resource_class in (orc.VCPU, orc.PCPU))
    layout = cpus.read(flavor_image, draft)
    if layout.thread_policy in (topology.REQUIRE, topology.ISOLATE):
        kind = REQUIRED if layout.thread_policy == topology.REQUIRE else FORBIDDEN
        draft.add_trait(os_traits.HW_CPU_HYPERTHREADING, kind)
    if not layout.pinned or is_explicit:
        return
    emulator = layout.emulator_threads == topology.ISOLATE
    if layout.policy == topology.MIXED:
        draft.add_amount(orc.VCPU, flavor_image.flavor.vcpus - len(layout.pinned))
    draft.add_amount(orc.PCPU, len(layout.pinned) + emulator)


def read_groups(groups: Sequence[NovaFields]) -> list[RequestGroup]:
    """Return the request groups of ports, devices and accelerators; their suffix is the requester's id."""
    return [_read_group(group) for group in groups]


def _read_group(group: NovaFields) -> RequestGroup:
    requester, in_tree = group.text("requester_id"), group.text("in_tree")
    if not requester:
        raise errors.InvalidSpec(why="a group of requested_resources has no requester_id")
    amounts = group.mapping("resources")
    return RequestGroup(
        requester,
        {name: amount for name, amount in amounts.items() if amount},
        required=tuple(group.texts("required_traits")),
        forbidden=tuple(group.texts("forbidden_traits")),
        member_of=freeze(group.lists_of_texts("aggregates")),
        forbidden_aggregates=tuple(group.texts("forbidden_aggregates")),
        in_tree=names.api_provider(in_tree) if in_tree else None,
    )
