# SPDX-License-Identifier: Apache-2.0
"""Host state across all partitions."""

from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.host_state.documents import CHUNK_SIZE, HostStateDocument, HostStates
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.store import aggregates, paging


class DeploymentStates:
    """Finds the partition of a document, and merges pages of all partitions.

    ``partition`` None in a call: the partition of the document or, for a new document, of its host.
    """

    def __init__(self, partitions: OpenPartitions, states: Mapping[str, HostStates]) -> None:
        self._partitions = partitions
        self._states = states

    def get(self, namespace: str, name: str) -> HostStateDocument:
        """Return a document, as HostStates.get; raises StoreUnavailable if a partition that may have it is away."""
        missing: errors.GanttError | None = None
        for partition in self._partitions.search_order(names.host_of(name)):
            try:
                return self._states[partition.name].get(namespace, name)
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
    ) -> tuple[list[HostStateDocument], str | None]:
        """Return a page of documents of one partition or all, as HostStates.list, sorted by name.

        Raises StoreUnavailable if one of these partitions is away.
        """
        partitions = [self._partitions.find(partition)] if partition is not None else list(self._partitions)
        pages = [self._states[partition.name].list(namespace, marker, limit, matching) for partition in partitions]
        documents = sorted(
            (document for page, _ in pages for document in page),
            key=lambda document: (document.name, document.partition),
        )
        # Names after the end of the shortest page may be missing: that partition has further pages.
        ends = [following for _, following in pages if following is not None]
        if not ends and len(documents) <= limit:
            return documents, None
        last = min(ends, default=documents[-1].name)
        if len(documents) > limit:
            last = min(last, documents[limit - 1].name)
        return [document for document in documents if document.name <= last], last

    def every(self, namespace: str) -> Iterator[Mapping[str, Any]]:
        """Return the documents of all partitions; raises as ``list``."""
        located = paging.entries(lambda marker: self.list(namespace, marker, CHUNK_SIZE))
        return (document.document for document in located)

    def update(
        self,
        namespace: str,
        name: str,
        version: int,
        changes: Mapping[str, Any],
        *,
        writer: str,
        partition: str | None = None,
    ) -> HostStateDocument:
        """Update a document, as HostStates.update; raises InvalidRequest for an aggregate in several partitions."""
        owner = self._find_partition(namespace, name, partition)
        return self._states[owner.name].update(namespace, name, version, changes, writer)

    def delete(self, namespace: str, name: str, version: int, writer: str) -> None:
        """Delete a document, as HostStates.delete."""
        self._states[self._find_partition(namespace, name, None).name].delete(namespace, name, version, writer)

    def _find_partition(self, namespace: str, name: str, partition: str | None) -> OpenPartition:
        """Return the partition of an existing or new document; raises Conflict if it is not ``partition``."""
        requested_partition = None if partition is None else self._partitions.find(partition)
        if len(self._partitions) == 1:
            return self._partitions.own
        if namespace == aggregates.NAMESPACE:
            raise errors.InvalidRequest(
                why=f"aggregate {name!r} is in every partition: change it with update_aggregates or "
                "delete_aggregate ('gantt aggregate')"
            )
        if requested_partition is not None and self._has(requested_partition, namespace, name):
            return requested_partition
        try:
            owner = self._partitions.find(self.get(namespace, name).partition)
        except errors.UnknownHost:
            return requested_partition or next(iter(self._partitions.search_order(names.host_of(name))))
        if requested_partition is not None:
            # Two documents of one name would apply to different hosts.
            raise errors.Conflict(
                what=f"Creating {name!r} in partition {partition!r}", why=f"it is in partition {owner.name!r} already"
            )
        return owner

    def _has(self, partition: OpenPartition, namespace: str, name: str) -> bool:
        try:
            self._states[partition.name].get(namespace, name)
        except errors.UnknownHost:
            return False
        return True
