# SPDX-License-Identifier: Apache-2.0
"""Which of a guest's cpus are pinned, and how: cpu and thread policies, masks, the emulator's threads. As in Nova."""

from dataclasses import dataclass

import os_resource_classes as orc
import os_traits

from rpcapi.edge.asked import TRUE, Asked
from rpcapi.edge.draft import FORBIDDEN, REQUIRED, Draft
from rpcapi.model.checks.topology import (
    CPU_POLICIES,
    DEDICATED,
    EMULATOR_THREADS,
    ISOLATE,
    MIXED,
    PREFER,
    REQUIRE,
    SHARED,
    THREAD_POLICIES,
)
from rpcapi.model.numa import cpu_sets

# What an image may ask beside a flavor that has said something.
_BESIDE = {DEDICATED: CPU_POLICIES, MIXED: (MIXED, SHARED), SHARED: (SHARED,), None: CPU_POLICIES}


@dataclass(frozen=True, slots=True)
class Cpus:
    """How a guest's cpus are served; ``policy`` None: nobody said, and they float."""

    policy: str | None
    thread_policy: str | None
    pinned: frozenset[int]
    emulator_threads: str | None


def read(asked: Asked, draft: Draft) -> Cpus:
    """Return what flavor and image say of cpus; raises InvalidSpec where it contradicts itself.

    ``draft`` has the amounts and traits that were named outright, which may say the same in another way.
    """
    emulator = asked.of_flavor("emulator_threads_policy")
    asked.check_known("emulator_threads_policy", emulator, EMULATOR_THREADS)
    policy = _named_outright(asked, draft, _policy(asked), emulator)
    thread_policy, trait = _thread_policy(asked), _threads_outright(draft)
    realtime, mask = _realtime(asked, emulator), _mask(asked)
    if policy in (SHARED, None):
        wrong = {
            "hw:cpu_thread_policy": thread_policy,
            "hw:emulator_threads_policy": emulator == ISOLATE,
            "hw:cpu_realtime": realtime,
        }
        for key, said in wrong.items():
            if said:
                raise asked.refuse(key, "is for pinned cpus, and hw:cpu_policy does not ask for any")
    if mask and policy != MIXED:
        raise asked.refuse("hw:cpu_dedicated_mask", f"is for hw:cpu_policy {MIXED!r}")
    if policy == MIXED and bool(mask) == bool(realtime):
        raise asked.refuse("hw:cpu_policy", "is mixed: one of hw:cpu_dedicated_mask and hw:cpu_realtime_mask says how")
    if trait is not None and thread_policy is not None:
        raise asked.refuse(f"trait:{os_traits.HW_CPU_HYPERTHREADING}", "cannot be beside hw:cpu_thread_policy")
    thread_policy = thread_policy or trait
    pinned = {DEDICATED: frozenset(range(asked.flavor.vcpus)), MIXED: mask or realtime}.get(policy or "", frozenset())
    return Cpus(policy, thread_policy, pinned or frozenset(), emulator)


def _policy(asked: Asked) -> str | None:
    own, other = asked.of_flavor("cpu_policy"), asked.of_image("cpu_policy")
    for value in (own, other):
        asked.check_known("cpu_policy", value, CPU_POLICIES)
    if other is not None and other not in _BESIDE[own]:
        raise asked.conflict("cpu_policy")
    return own or other


def _thread_policy(asked: Asked) -> str | None:
    own, other = asked.of_flavor("cpu_thread_policy"), asked.of_image("cpu_thread_policy")
    for value in (own, other):
        asked.check_known("cpu_thread_policy", value, THREAD_POLICIES)
    if own in (None, PREFER):
        return own or other
    if other not in (None, own):
        raise asked.conflict("cpu_thread_policy")
    return own


def _named_outright(asked: Asked, draft: Draft, policy: str | None, emulator: str | None) -> str | None:
    """Return the policy that ``resources:VCPU`` or ``resources:PCPU`` stands for, or the one that was found before."""
    vcpus, pcpus = draft.plain.get(orc.VCPU, 0), draft.plain.get(orc.PCPU, 0)
    if policy is not None and (vcpus or pcpus):
        raise asked.refuse("hw:cpu_policy", "cannot be beside resources:VCPU or resources:PCPU: say one or the other")
    if vcpus and pcpus:
        raise asked.refuse("resources:PCPU", "cannot be beside resources:VCPU; hw:cpu_policy=mixed asks for both")
    if not pcpus:
        return SHARED if vcpus else policy
    wanted = asked.flavor.vcpus + (emulator == ISOLATE)
    if pcpus != wanted:
        raise asked.refuse("resources:PCPU", f"must be {wanted}, as many as there are cpus to pin, not {pcpus}")
    return DEDICATED


def _threads_outright(draft: Draft) -> str | None:
    """Return the thread policy that the trait of hyperthreading stands for where cpus are pinned."""
    traits = draft.groups[""].traits
    for kind, policy in ((REQUIRED, REQUIRE), (FORBIDDEN, ISOLATE)):
        if os_traits.HW_CPU_HYPERTHREADING in traits[kind]:
            return policy
    return None


def _mask(asked: Asked) -> frozenset[int]:
    mask = asked.of_flavor("cpu_dedicated_mask")
    if mask is None:
        return frozenset()
    pinned = _masked(asked, "hw:cpu_dedicated_mask", mask)
    if not 0 < len(pinned) < asked.flavor.vcpus:
        raise asked.refuse("hw:cpu_dedicated_mask", "must pin some of the cpus, and leave some")
    return pinned


def _realtime(asked: Asked, emulator: str | None) -> frozenset[int]:
    if (asked.of_flavor("cpu_realtime") or "").lower() not in TRUE:
        return frozenset()
    mask = asked.of_image("cpu_realtime_mask") or asked.of_flavor("cpu_realtime_mask")
    everything = frozenset(range(asked.flavor.vcpus))
    cpus = everything if mask is None else _masked(asked, "hw:cpu_realtime_mask", mask)
    if not cpus or (cpus == everything and emulator is None):
        raise asked.refuse("hw:cpu_realtime_mask", "must name cpus, and leave one without hw:emulator_threads_policy")
    return cpus


def _masked(asked: Asked, key: str, mask: str) -> frozenset[int]:
    """Return the cpus of a mask; one that begins with an exclusion leaves all others."""
    everything = frozenset(range(asked.flavor.vcpus))
    try:
        cpus = cpu_sets.parse(f"0-{asked.flavor.vcpus - 1},{mask}" if mask.strip().startswith("^") else mask)
    except ValueError as why:
        raise asked.refuse(key, f"is no set of cpus: {why}") from None
    if not cpus <= everything:
        raise asked.refuse(key, f"names cpus beyond the {asked.flavor.vcpus} that there are")
    return cpus
