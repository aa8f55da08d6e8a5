# SPDX-License-Identifier: Apache-2.0
"""Verbs on the partitions of requests (pins) and of server groups (homes)."""

from scheduler_svc.store.records import GroupHome, GroupMembership, departure_key, home_key
from scheduler_svc.store.verbs.partition import PartitionState

# Suffix of a departed group's generation after the group has returned. It does not change how generations compare.
RETURNED = " returned"


def pin(partition: PartitionState, now: int, key: str, requested: str, *, ttl_ms: int, instead_of: str | None) -> str:
    """Pin ``requested``, unless a valid pin names a partition other than ``instead_of``; return the partition."""
    pinned, until = partition.pins.get(key, (requested, 0))
    if until <= now or pinned == instead_of:
        pinned = requested
    partition.pins[key] = (pinned, now + ttl_ms)
    return pinned


def group_home(
    partition: PartitionState, now: int, group_id: str, requested: str, *, ttl_ms: int, instead_of: str
) -> GroupHome:
    """Return the group's home, see PinStore.group_home.

    A home of an earlier epoch gets a new generation, because the store may have forgotten a later one.
    """
    pinned, until = partition.pins.get(home_key(group_id), ("", 0))
    name, _, generation = pinned.partition(" ")
    epoch, _, number = generation.partition(".")
    if not generation or generation == instead_of or until <= now:
        name = ""
    if not name or int(epoch) != partition.epoch:
        generation = f"{partition.epoch:016d}.{max(now, int(number or 0) + 1):016d}"
    home = GroupHome(name or requested, generation)
    partition.pins[home_key(group_id)] = (f"{home.partition} {home.generation}", now + ttl_ms)
    return home


def leave_group(
    partition: PartitionState, now: int, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool
) -> GroupMembership:
    partition.expire(now)
    partition.flush(now)
    members = sum(partition.groups.get(group_id, {}).values())
    may_have_forgotten = partition.awaits_any()
    if not members and not (only_if_certain and may_have_forgotten):
        departure, _until = partition.pins.get(departure_key(group_id), ("", 0))
        partition.pins[departure_key(group_id)] = (max(departure.removesuffix(RETURNED), generation), now + ttl_ms)
    return GroupMembership(members, may_have_forgotten)


def has_left(partition: PartitionState, group_id: str, generation: str, has_members: bool) -> bool:
    """Return whether the group has left this partition, so that claims under ``generation`` are refused.

    Claims of alternates have no generation (""); they are accepted if the group has members here or has returned.
    """
    departure, _until = partition.pins.get(departure_key(group_id), ("", 0))
    if generation:
        return generation <= departure
    return bool(departure) and not departure.endswith(RETURNED) and not has_members


def note_return(partition: PartitionState, group_id: str) -> None:
    """Mark a departed group as returned, after a claim under a later generation."""
    departure, until = partition.pins.get(departure_key(group_id), ("", 0))
    if departure and not departure.endswith(RETURNED):
        partition.pins[departure_key(group_id)] = (departure + RETURNED, until)
