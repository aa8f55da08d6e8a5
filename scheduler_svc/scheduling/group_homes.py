# SPDX-License-Identifier: Apache-2.0
"""Home partition of each server group, on which workers agree even if they fail between steps."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.scheduling.pins import rank_by_key
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import GroupHome

Result = TypeVar("Result")

LIFETIME_MS = 24 * 3600 * 1000  # after the last use; without a home, all partitions are searched for members


class GroupHomes:
    """Agreement of workers on a server group's home, the only partition with its members.

    A partition derived from the group's id, the recorder, records the home with a generation, which each claim carries.
    When the group leaves a partition without members, the same script makes the partition refuse claims of this and
    earlier generations, so that a claim in flight cannot arrive there later. The generation is a fencing token
    (Kleppmann, "How to do distributed locking", 2016).
    """

    def __init__(self, partitions: Iterable[OpenPartition]) -> None:
        self._partitions = {partition.name: partition for partition in partitions}

    def agree(self, group: ClaimGroup, proposed: str) -> GroupHome:
        """Return the group's home: the recorded home, else the partition with its members, else ``proposed``.

        Raises StoreUnavailable if the recorder, or a partition that may have members, does not answer. For an affinity
        group, also while members may have been forgotten on hosts that have not audited.
        """
        home = self._record(group, proposed, "")
        if home.partition not in self._partitions:
            home = self._record(group, proposed, home.generation)
        for _ in self._partitions:
            if self._count_members(group, home.partition):
                return home
            occupied = self._leave_others(group, home)
            if occupied is None:
                return home
            home = self._record(group, occupied, home.generation)
        raise errors.StoreUnavailable(why=f"server group {group.id} moves between partitions; retry")

    def leave(self, group: ClaimGroup, home: GroupHome) -> bool:
        """Leave a home that refused a call. Return False if it has members. Raises StoreUnavailable like ``agree``."""
        return not self._leave(home.partition, group, home)

    def move(self, group: ClaimGroup, home: GroupHome, to: str) -> GroupHome:
        """Return the new home after ``home`` was left: ``to``, or the choice of a faster worker."""
        return self._record(group, to, home.generation)

    def _record(self, group: ClaimGroup, partition: str, instead_of: str) -> GroupHome:
        recorder = rank_by_key(self._partitions.values(), f"group:{group.id}")[0]
        return self._call(
            recorder.name,
            f"records the partition of server group {group.id}",
            lambda store: store.group_home(group.id, partition, LIFETIME_MS, instead_of),
        )

    def _count_members(self, group: ClaimGroup, name: str) -> int:
        hosts = self._call(name, f"serves server group {group.id}", lambda store: store.group_hosts(group.id))
        return sum(hosts.values())

    def _leave_others(self, group: ClaimGroup, home: GroupHome) -> str | None:
        for name in self._partitions:
            if name == home.partition:
                continue
            if self._leave(name, group, home):
                return name
        return None

    def _leave(self, name: str, group: ClaimGroup, home: GroupHome) -> int:
        """Leave a partition unless it has members. Return their number. Raises StoreUnavailable like ``agree``."""
        is_affinity = group.policy is GroupPolicy.AFFINITY
        membership = self._call(
            name,
            f"may have members of server group {group.id}",
            lambda store: store.leave_group(group.id, home.generation, LIFETIME_MS, only_if_certain=is_affinity),
        )
        if is_affinity and membership.may_have_forgotten and not membership.members:
            raise errors.StoreUnavailable(
                why=f"partition {name!r} may have forgotten members of server group {group.id} and waits for its "
                "hosts' audits"
            )
        return membership.members

    def _call(self, name: str, role: str, verb: Callable[[Store], Result]) -> Result:
        partition = self._partitions[name]
        try:
            if partition.presence.away:
                raise errors.StoreUnavailable(why="its store is unavailable")
            return verb(partition.store)
        except errors.Unavailable as error:
            partition.presence.record_failure()
            raise errors.StoreUnavailable(why=f"partition {name!r}, which {role}, is unavailable") from error
