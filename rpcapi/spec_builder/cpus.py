# SPDX-License-Identifier: Apache-2.0
"""CPU pinning of a guest, as in Nova: CPU and thread policies, masks and emulator threads."""

from dataclasses import dataclass

import os_resource_classes as orc
import os_traits

from rpcapi.resources.numa import cpu_sets
from rpcapi.spec_builder.draft import TRUE, FlavorImageProperties, SpecDraft
from rpcapi.validation import topology

# CPU policies that an image may set, by the flavor's policy.
_IMAGE_POLICIES = {
    topology.DEDICATED: topology.CPU_POLICIES,
    topology.MIXED: (topology.MIXED, topology.SHARED),
    topology.SHARED: (topology.SHARED,),
    None: topology.CPU_POLICIES,
}


@dataclass(frozen=True, slots=True)
class CpuLayout:
    """CPU policies and pinned CPUs of a guest; without ``policy`` all CPUs float."""

    policy: str | None
    thread_policy: str | None
    pinned: frozenset[int]
    emulator_threads: str | None


def read(flavor_image: FlavorImageProperties, draft: SpecDraft) -> CpuLayout:
    """Derive the CPU layout from flavor, image, and amounts and traits of the draft; raises InvalidSpec."""
    emulator = flavor_image.flavor_value("emulator_threads_policy")
    flavor_image.check_allowed("emulator_threads_policy", emulator, topology.EMULATOR_THREADS)
    policy = _policy_from_resources(flavor_image, draft, _policy(flavor_image), emulator)
    thread_policy, trait = _thread_policy(flavor_image), _thread_policy_from_traits(draft)
    realtime, mask = _realtime_cpus(flavor_image, emulator), _dedicated_mask(flavor_image)
    if policy in (topology.SHARED, None):
        settings = {
            "hw:cpu_thread_policy": thread_policy,
            "hw:emulator_threads_policy": emulator == topology.ISOLATE,
            "hw:cpu_realtime": realtime,
        }
        for key, setting in settings.items():
            if setting:
                raise flavor_image.invalid(key, "needs pinned cpus, but hw:cpu_policy pins none")
    if mask and policy != topology.MIXED:
        raise flavor_image.invalid("hw:cpu_dedicated_mask", f"needs hw:cpu_policy {topology.MIXED!r}")
    if policy == topology.MIXED and bool(mask) == bool(realtime):
        raise flavor_image.invalid(
            "hw:cpu_policy", "is mixed, which needs exactly one of hw:cpu_dedicated_mask and hw:cpu_realtime_mask"
        )
    if trait is not None and thread_policy is not None:
        raise flavor_image.invalid(
            f"trait:{os_traits.HW_CPU_HYPERTHREADING}", "cannot be combined with hw:cpu_thread_policy"
        )
    thread_policy = thread_policy or trait
    pinned: frozenset[int] = frozenset()
    if policy == topology.DEDICATED:
        pinned = flavor_image.cpu_numbers()
    elif policy == topology.MIXED:
        pinned = mask or realtime
    return CpuLayout(policy, thread_policy, pinned, emulator)


def _policy(flavor_image: FlavorImageProperties) -> str | None:
    flavor_policy, image_policy = flavor_image.flavor_value("cpu_policy"), flavor_image.image_value("cpu_policy")
    for value in (flavor_policy, image_policy):
        flavor_image.check_allowed("cpu_policy", value, topology.CPU_POLICIES)
    if image_policy is not None and image_policy not in _IMAGE_POLICIES[flavor_policy]:
        raise flavor_image.conflict("cpu_policy")
    return flavor_policy or image_policy


def _thread_policy(flavor_image: FlavorImageProperties) -> str | None:
    flavor_policy, image_policy = (
        flavor_image.flavor_value("cpu_thread_policy"),
        flavor_image.image_value("cpu_thread_policy"),
    )
    for value in (flavor_policy, image_policy):
        flavor_image.check_allowed("cpu_thread_policy", value, topology.THREAD_POLICIES)
    if flavor_policy in (None, topology.PREFER):
        return flavor_policy or image_policy
    if image_policy not in (None, flavor_policy):
        raise flavor_image.conflict("cpu_thread_policy")
    return flavor_policy


def _policy_from_resources(
    flavor_image: FlavorImageProperties, draft: SpecDraft, policy: str | None, emulator: str | None
) -> str | None:
    """Return the policy implied by ``resources:VCPU`` or ``resources:PCPU``, otherwise ``policy``."""
    vcpus, pcpus = draft.unsuffixed.get(orc.VCPU, 0), draft.unsuffixed.get(orc.PCPU, 0)
    if policy is not None and (vcpus or pcpus):
        raise flavor_image.invalid("hw:cpu_policy", "cannot be combined with resources:VCPU or resources:PCPU")
    if vcpus and pcpus:
        raise flavor_image.invalid(
            "resources:PCPU", "cannot be combined with resources:VCPU; use hw:cpu_policy=mixed for both"
        )
    if not pcpus:
        return topology.SHARED if vcpus else policy
    required_pcpus = flavor_image.flavor.vcpus + (emulator == topology.ISOLATE)
    if pcpus != required_pcpus:
        raise flavor_image.invalid(
            "resources:PCPU", f"must be {required_pcpus}, the number of cpus to pin, not {pcpus}"
        )
    return topology.DEDICATED


def _thread_policy_from_traits(draft: SpecDraft) -> str | None:
    group = draft.groups[""]
    for traits, policy in ((group.required, topology.REQUIRE), (group.forbidden, topology.ISOLATE)):
        if os_traits.HW_CPU_HYPERTHREADING in traits:
            return policy
    return None


def _dedicated_mask(flavor_image: FlavorImageProperties) -> frozenset[int]:
    mask = flavor_image.flavor_value("cpu_dedicated_mask")
    if mask is None:
        return frozenset()
    pinned = _parse_mask(flavor_image, "hw:cpu_dedicated_mask", mask)
    if not 0 < len(pinned) < flavor_image.flavor.vcpus:
        raise flavor_image.invalid("hw:cpu_dedicated_mask", "must pin at least one cpu, but not all")
    return pinned


def _realtime_cpus(flavor_image: FlavorImageProperties, emulator: str | None) -> frozenset[int]:
    if (flavor_image.flavor_value("cpu_realtime") or "").lower() not in TRUE:
        return frozenset()
    mask = flavor_image.image_value("cpu_realtime_mask") or flavor_image.flavor_value("cpu_realtime_mask")
    all_cpus = flavor_image.cpu_numbers()
    cpus = all_cpus if mask is None else _parse_mask(flavor_image, "hw:cpu_realtime_mask", mask)
    if not cpus or (cpus == all_cpus and emulator is None):
        raise flavor_image.invalid(
            "hw:cpu_realtime_mask",
            "must contain at least one cpu, and not all cpus unless hw:emulator_threads_policy is set",
        )
    return cpus


def _parse_mask(flavor_image: FlavorImageProperties, key: str, mask: str) -> frozenset[int]:
    """Return the CPUs of a mask; a mask that begins with an exclusion includes all other CPUs."""
    all_cpus = flavor_image.cpu_numbers()
    try:
        cpus = cpu_sets.parse(f"0-{flavor_image.flavor.vcpus - 1},{mask}" if mask.strip().startswith("^") else mask)
    except ValueError as why:
        raise flavor_image.invalid(key, f"is not a set of cpus: {why}") from None
    if not cpus <= all_cpus:
        raise flavor_image.invalid(key, f"contains cpus beyond the {flavor_image.flavor.vcpus} of the flavor")
    return cpus
