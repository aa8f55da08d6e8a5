# SPDX-License-Identifier: Apache-2.0
"""Which host CPUs of a cell a pinned guest gets, by thread policy: one rule for whoever decides and whoever pins."""

from collections.abc import Sequence
from enum import StrEnum

Core = Sequence[int]  # CPUs that are threads of one core

# The sentences of refusals; what is short is told by whoever knows the amounts.
NOT_ENOUGH = "too few CPUs are free"
NO_THREADS = "its cores have no threads beside each other, which the thread policy 'require' needs"
THREADS = "its cores have threads that others may be given, which the thread policy 'isolate' forbids"
BROKEN = "too few cores have threads free beside each other, which the thread policy 'require' needs"


class ThreadPolicy(StrEnum):
    """How a pinned guest's CPUs lie on cores with several threads; named as in Nova."""

    PREFER = "prefer"  # beside each other where there is room so
    REQUIRE = "require"  # beside each other, as many of each core
    ISOLATE = "isolate"  # on a core without other threads


def choose(
    free: Sequence[Core], threads: int, count: int, policy: ThreadPolicy = ThreadPolicy.PREFER
) -> tuple[int, ...] | str:
    """Return ``count`` of the free CPUs, in the order in which the guest's are laid on them, or a sentence why not.

    ``free`` has the free CPUs core by core, ``threads`` is how many a core of the cell has in all. What goes to a core
    as a whole goes where no more is free than is needed, so that whole cores stay whole.
    """
    if policy is ThreadPolicy.ISOLATE and threads > 1:
        return THREADS
    if policy is ThreadPolicy.REQUIRE and threads <= 1:
        return NO_THREADS
    if count > sum(len(core) for core in free):
        return NOT_ENOUGH
    for each in range(threads, 1, -1):
        found = _evenly(free, each, count, strict=policy is ThreadPolicy.REQUIRE)
        if found is not None:
            return found
    if policy is ThreadPolicy.REQUIRE:
        return BROKEN
    return _scattered(free, count)


def _evenly(free: Sequence[Core], each: int, count: int, strict: bool) -> tuple[int, ...] | None:
    """Return CPUs of which each core gives ``each``; the last one what remains.

    With ``strict`` even that one has ``each`` free, so that what remains has no neighbour who asked for less.
    """
    whole, rest = divmod(count, each)
    cores = sorted((core for core in free if len(core) >= each), key=_fullness)
    if len(cores) < whole:
        return None
    chosen = [tuple(core[:each]) for core in cores[:whole]]
    if rest:
        need = each if strict else rest
        left = [core for core in free if len(core) >= need and tuple(core[:each]) not in chosen]
        if not left:
            return None
        chosen.append(tuple(min(left, key=_fullness)[:rest]))
    return tuple(cpu for core in chosen for cpu in core)


def _scattered(free: Sequence[Core], count: int) -> tuple[int, ...]:
    return tuple(cpu for core in sorted(free, key=_fullness) for cpu in core)[:count]


def _fullness(core: Core) -> tuple[int, int]:
    return len(core), core[0] if core else 0
