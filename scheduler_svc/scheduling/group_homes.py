# SPDX-License-Identifier: Apache-2.0
"""The partition of a server group: one at a time, agreed on by all workers, whatever fails between their steps."""

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

LIFETIME_MS = 24 * 3600 * 1000  # how long a choice is recorded after its last use; members are found without it


class GroupHomes:
    """Agrees on the home of a server group: the only partition in which it may have members.

    One partition, the recorder, derived from the group, records the home with a generation. A claim of the group
    carries the generation that it was decided under. A partition that is left refuses claims of that generation and
    earlier ones, in the script that finds it without members; so a claim that is under way cannot land there afterwards
    (a fencing token: Kleppmann, "How to do distributed locking", 2016).
    """

    def __init__(self, partitions: Iterable[OpenPartition]) -> None:
        self._partitions = {partition.name: partition for partition in partitions}

    def agree(self, group: ClaimGroup, proposed: str) -> GroupHome:
        """Return the home of a group: the recorded one, the partition that has its members, or else ``proposed``.

        Raises StoreUnavailable where a partition that may have members, or the recorder, does not answer, or where an
        affinity group may have members that a partition forgot, until their hosts have been audited.
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
        """Leave a home that refused a call; return False where the group has members there, and stays.

        Raises StoreUnavailable as ``agree`` does.
        """
        return not self._leave(home.partition, group, home)

    def move(self, group: ClaimGroup, home: GroupHome, to: str) -> GroupHome:
        """Return the home after ``home`` was left: ``to``, or the one that another worker chose meanwhile."""
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
        """Leave every partition but the home; return one that has members instead, None if none has."""
        for name in self._partitions:
            if name == home.partition:
                continue
            if self._leave(name, group, home):
                return name
        return None

    def _leave(self, name: str, group: ClaimGroup, home: GroupHome) -> int:
        """Leave a partition unless the group has members there; return their number.

        Raises StoreUnavailable where it may have forgotten members of an affinity group.
        """
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
                raise errors.StoreUnavailable(why="its store is away")
            return verb(partition.store)
        except errors.Unavailable as error:
            partition.presence.record_failure()
            raise errors.StoreUnavailable(why=f"partition {name!r}, which {role}, is unavailable") from error
