# SPDX-License-Identifier: Apache-2.0
"""Host state of all partitions, as if it were in one place."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.hosts.host_states import HostStates, State
from scheduler_svc.partitions import Partition, Partitions
from scheduler_svc.store import aggregates


class Held(NamedTuple):
    """A document, and the partition that holds it."""

    partition: str
    state: State


class DeploymentStates:
    """Finds the partition of a document, and reads pages across partitions.

    ``partition`` None in a call: wherever the document is; or, for one that is yet to be, where its host is.
    """

    def __init__(self, partitions: Partitions, states: Mapping[str, HostStates]) -> None:
        self._partitions = partitions
        self._states = states

    def get(self, namespace: str, name: str) -> Held:
        """Do what HostStates.get does; raises StoreUnavailable where a partition is away that may have it."""
        missing: errors.GanttError | None = None
        for each in self._partitions.likely(names.host_of(name)):
            try:
                return Held(each.name, self._states[each.name].get(namespace, name))
            except errors.UnknownHost as error:
                missing = missing or error
            except errors.StoreUnavailable as error:
                missing = error
        assert missing is not None  # noqa: S101 - there is at least one partition
        raise missing

    def list(
        self,
        namespace: str,
        marker: str | None,
        limit: int,
        matching: Mapping[str, Any] | None = None,
        partition: str | None = None,
    ) -> tuple[list[Held], str | None]:
        """Do what HostStates.list does, over all partitions or one: by name, whatever the partition.

        Raises StoreUnavailable where one that is asked is away: naming another narrows it down.
        """
        asked = [self._partitions.find(partition)] if partition is not None else list(self._partitions)
        pages = [(each, self._states[each.name].list(namespace, marker, limit, matching)) for each in asked]
        found = sorted(
            (Held(each.name, state) for each, (states, _) in pages for state in states),
            key=lambda held: (held.state.name, held.partition),
        )
        # Beyond the end of the shortest page others may have names that it has not come to yet.
        ends = [following for _, (_, following) in pages if following is not None]
        if not ends and len(found) <= limit:
            return found, None
        last = min(ends, default=found[-1].state.name)
        if len(found) > limit:
            last = min(last, found[limit - 1].state.name)
        return [held for held in found if held.state.name <= last], last

    def update(
        self,
        namespace: str,
        name: str,
        version: int,
        changes: Mapping[str, Any],
        *,
        writer: str,
        partition: str | None = None,
    ) -> Held:
        """Do what HostStates.update does; raises InvalidRequest for an aggregate, of several partitions."""
        where = self._where(namespace, name, partition)
        return Held(where.name, self._states[where.name].update(namespace, name, version, changes, writer))

    def delete(self, namespace: str, name: str, version: int, writer: str) -> None:
        """Do what HostStates.delete does."""
        self._states[self._where(namespace, name, None).name].delete(namespace, name, version, writer)

    def _where(self, namespace: str, name: str, partition: str | None) -> Partition:
        """Return where a document is, or is to be; raises Conflict where that is not ``partition``."""
        named = None if partition is None else self._partitions.find(partition)
        if len(self._partitions) == 1:
            return self._partitions.own
        if namespace == aggregates.NAMESPACE:
            raise errors.InvalidRequest(
                why=f"aggregate {name!r} is in every partition: change all at once by update_aggregates and "
                "delete_aggregate ('gantt aggregate')"
            )
        if named is not None and self._has(named, namespace, name):
            return named
        try:
            found = self._partitions.find(self.get(namespace, name).partition)
        except errors.UnknownHost:
            return named or next(iter(self._partitions.likely(names.host_of(name))))
        if named is not None:
            # A second one of its name would hold for some hosts, and the first for others.
            raise errors.Conflict(
                what=f"Making {name!r} in partition {partition!r}", why=f"it is in partition {found.name!r} already"
            )
        return found

    def _has(self, partition: Partition, namespace: str, name: str) -> bool:
        try:
            self._states[partition.name].get(namespace, name)
        except errors.UnknownHost:
            return False
        return True
