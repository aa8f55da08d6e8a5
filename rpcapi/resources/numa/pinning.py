# SPDX-License-Identifier: Apache-2.0
"""Choice of host CPUs for pinned guests by thread policy, shared by scheduler and agent."""

from collections.abc import Sequence
from enum import StrEnum

Core = Sequence[int]  # CPUs (threads) of a core

# Refusal reasons; the caller adds the amounts.
NOT_ENOUGH = "too few CPUs are free"
NO_THREADS = "its cores have no thread siblings, which the thread policy 'require' needs"
THREADS = "its cores have several threads, which the thread policy 'isolate' forbids"
BROKEN = "too few cores have the free thread siblings that the thread policy 'require' needs"


class ThreadPolicy(StrEnum):
    PREFER = "prefer"  # use thread siblings if possible
    REQUIRE = "require"  # use thread siblings, the same number of each core
    ISOLATE = "isolate"  # use only cores with one thread


def choose_cpus(
    free: Sequence[Core], threads: int, count: int, policy: ThreadPolicy = ThreadPolicy.PREFER
) -> tuple[int, ...] | str:
    """Return ``count`` free CPUs in the guest's order, or a refusal reason. Best fit keeps idle cores idle."""
    if policy is ThreadPolicy.ISOLATE and threads > 1:
        return THREADS
    if policy is ThreadPolicy.REQUIRE and threads <= 1:
        return NO_THREADS
    if count > sum(len(core) for core in free):
        return NOT_ENOUGH
    for cpus_per_core in range(threads, 1, -1):
        cpus = _choose_evenly(free, cpus_per_core, count, strict=policy is ThreadPolicy.REQUIRE)
        if cpus is not None:
            return cpus
    if policy is ThreadPolicy.REQUIRE:
        return BROKEN
    return _choose_any(free, count)


def _choose_evenly(free: Sequence[Core], cpus_per_core: int, count: int, strict: bool) -> tuple[int, ...] | None:
    """Return ``cpus_per_core`` CPUs of each core and the remainder of one more core; None if impossible.

    If ``strict``, that core too needs ``cpus_per_core`` free CPUs.
    """
    whole, remainder = divmod(count, cpus_per_core)
    cores = sorted((core for core in free if len(core) >= cpus_per_core), key=_free_count)
    if len(cores) < whole:
        return None
    selected = [tuple(core[:cpus_per_core]) for core in cores[:whole]]
    if remainder:
        free_needed = cpus_per_core if strict else remainder
        partial = [core for core in free if len(core) >= free_needed and tuple(core[:cpus_per_core]) not in selected]
        if not partial:
            return None
        selected.append(tuple(min(partial, key=_free_count)[:remainder]))
    return tuple(cpu for core in selected for cpu in core)


def _choose_any(free: Sequence[Core], count: int) -> tuple[int, ...]:
    return tuple(cpu for core in sorted(free, key=_free_count) for cpu in core)[:count]


def _free_count(core: Core) -> tuple[int, int]:
    return len(core), core[0] if core else 0
