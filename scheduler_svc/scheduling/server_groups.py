# SPDX-License-Identifier: Apache-2.0
"""Server groups: documents of namespace ``server_group`` whose policy never changes."""

import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from oslo_log import log

from rpcapi import errors, objects
from rpcapi.context import MAX_ID
from rpcapi.objects.request_schema import canonical, check_spec
from rpcapi.resources import names
from rpcapi.validation.instances import canonical_uuid, check_name, check_uuids
from rpcapi.validation.server_groups import check_rule
from rpcapi.validation.text import abbreviate
from scheduler_svc.core.namespaces import built_in
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.scheduling.pins import rank_by_key
from scheduler_svc.store import paging, validation
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import SERVER_GROUP
from scheduler_svc.store.validation import MAX_PAGE

LOG = log.getLogger(__name__)

REPEAT_SECONDS = 30.0  # time after a loss until all workers have repeated their documents
UNUSED_MS = 24 * 3600 * 1000  # age at which an implicit group without members is deleted
MAX_DELETED = 100  # deleted groups per project whose documents stay
CREATED, DELETED = "created_ms", "deleted_ms"  # A document has one of these keys.
_NAMESPACE = Namespace(SERVER_GROUP, built_in.SCHEDULER, built_in.SERVER_GROUP)


class ServerGroups:
    """Reader and writer of server groups. Thread-safe.

    A group is stored in the partition that ranks first for its id. After a change of the deployment's partitions, it
    may be in any partition. All methods raise StoreUnavailable if a partition that may have the group does not answer.
    """

    def __init__(
        self,
        partitions: OpenPartitions,
        limit: Callable[[], int],
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """``limit`` returns the maximum number of groups per project, ``clock`` the Unix time in milliseconds."""
        self._partitions = partitions
        self._limit = limit
        self._clock = clock

    def get(self, group_id: str, project: str | None) -> objects.ServerGroup:
        """Return a group of ``project`` (None: of any project). Raises NotFound, InvalidName."""
        group_id = canonical_uuid(group_id)
        _store, _version, document = self._find(group_id)
        if not document or DELETED in document or project not in (None, document["project"]):
            raise errors.NotFound(what=f"Server group {group_id}")
        return _as_object(group_id, document)

    def create(self, group: objects.ServerGroup) -> objects.ServerGroup:
        """Create a group and return it. Raises InvalidRequest, QuotaExceeded, and Conflict if the uuid is in use."""
        check_uuids([group.id], 1, "server group")
        check_rule(group.policy, group.max_per_host)
        if group.name:
            check_name(group.name, "server group")
        if not 1 <= len(group.project) <= MAX_ID or not group.project.isprintable():
            allowed = f"1 to {MAX_ID} printable characters"
            raise errors.InvalidRequest(
                why=f"a server group needs a project of {allowed}, not {abbreviate(group.project)}"
            )
        conflict = errors.Conflict(
            what=f"Creating server group {group.id}", why="that uuid belongs to another group, or to a deleted one"
        )
        _store, _version, recorded = self._find(group.id)
        # Members without a document belong to a group that the store forgot.
        if not recorded and self._count_members(group.id):
            raise conflict
        if not recorded or (DELETED in recorded and _is_recorded_as(group, recorded)):
            fields = ("name", "project", "policy", "max_per_host")
            recorded = self._record(group.id, {name: getattr(group, name) for name in fields})
        if DELETED in recorded or not _is_recorded_as(group, recorded):
            raise conflict
        return group

    def complete(
        self, spec: objects.RequestSpec, project: str, *, creates: bool, is_external: bool = False
    ) -> objects.RequestSpec:
        """Return the spec with the policy of its server group, if it names a group.

        If the group is unknown or deleted but the spec has a policy, the spec was accepted before, or Nova made the
        group. With ``creates``, the group is restored or created with that policy. ``is_external``: Nova sent it.
        Raises NotFound, GroupContradicted, InvalidSpec, and QuotaExceeded if the project may have no further group.
        """
        if spec.group_id is None and not spec.hints:
            return spec
        check_spec(spec)
        spec = canonical(spec)
        if spec.group_id is None:
            return spec
        _store, _version, document = self._find(spec.group_id)
        is_missing = not document or DELETED in document
        if is_missing and spec.group_policy is not None and document.get("project", project) == project:
            if not document:
                rule = {"policy": spec.group_policy, "max_per_host": spec.group_max_per_host or 1}
                document = {"project": project, **rule, "is_implicit": True} | (
                    {"is_external": True} if is_external else {}
                )
            completed = _as_object(spec.group_id, document).apply_to(spec)
            if not creates:
                return completed
            document = self._record(spec.group_id, document)
        if not document or DELETED in document or document["project"] != project:
            raise errors.NotFound(what=f"Server group {spec.group_id}")
        return _as_object(spec.group_id, document).apply_to(spec)

    def page(self, project: str | None, marker: str | None, limit: int) -> tuple[list[objects.ServerGroup], str | None]:
        """Return a page of the groups of ``project`` (None: all), sorted by id, and the next marker."""
        validation.check_page(limit, marker)
        page_size = min(limit + 1, MAX_PAGE) if project is None else MAX_PAGE
        groups = [
            _as_object(name, document)
            for partition in self._partitions
            for name, document in islice(_documents(partition, marker, project, page_size), limit + 1)
        ]
        groups.sort(key=lambda group: group.id)
        return groups[:limit], groups[limit - 1].id if len(groups) > limit else None

    def delete(self, group_id: str, project: str | None) -> None:
        """Delete a group of ``project`` (None: of any project), if it exists. Raises GroupInUse.

        Only live claims are members: accepted builds and offloaded servers are not. The document stays, marked as
        deleted, so that their requests restore the group, and no other project takes its uuid.
        """
        group_id = canonical_uuid(group_id)
        store, version, document = self._find(group_id)
        if not document or DELETED in document or project not in (None, document["project"]):
            return
        self._check_unused(group_id)
        deleted = {name: value for name, value in document.items() if name != CREATED} | {DELETED: self._clock()}
        try:  # As ``deleted`` is no larger, a full store accepts it.
            version = store.put_state(SERVER_GROUP, group_id, version, deleted)
        except errors.VersionConflict:  # A parallel call has deleted it; a request may have restored it since.
            self.delete(group_id, project)
            return
        try:
            self._check_unused(group_id)  # a claim may have arrived between the count and the deletion
        except errors.GroupInUse:
            with contextlib.suppress(errors.VersionConflict):  # A request has restored it.
                store.put_state(SERVER_GROUP, group_id, version, document)
            raise
        self._forget_oldest(document["project"])

    def _forget_oldest(self, project: str) -> None:
        """Drop the documents of the project's deleted groups except the MAX_DELETED that were deleted last."""
        deleted = [
            (document[DELETED], name, version, partition.store)
            for partition in self._partitions
            for name, version, document in _rows(partition, project=project)
            if DELETED in document
        ]
        for _, name, version, store in sorted(deleted, key=lambda row: row[:2])[:-MAX_DELETED]:
            with contextlib.suppress(errors.VersionConflict):  # A request has restored it.
                store.delete_state(SERVER_GROUP, name, version)

    def delete_unused(self) -> None:
        """Delete implicit groups without members older than UNUSED_MS; a request restores them."""
        oldest_ms = self._clock() - UNUSED_MS
        for partition in self._partitions:
            for name, document in list(_documents(partition)):
                if document.get("is_implicit") and document[CREATED] < oldest_ms:
                    with contextlib.suppress(errors.GroupInUse):
                        self.delete(name, None)
                        LOG.info("Deleted server group %s, which has no members", name)

    def _find(self, group_id: str) -> tuple[Store, int, dict[str, Any]]:
        """Return (store, version, document) of a group. An unknown group has version 0 and document {}."""
        name = names.canonical(group_id)
        ranked = self._ranked(name)
        for partition in ranked:
            with _answering(partition) as store:
                version, document = store.find_state(SERVER_GROUP, name)
            if document:
                return store, version, document
        for partition in ranked:
            _check_complete(partition)
        return ranked[0].store, 0, {}

    def _ranked(self, group_id: str) -> list[OpenPartition]:
        return rank_by_key(self._partitions, f"group:{group_id}")

    def _put(self, group_id: str, document: dict[str, Any]) -> dict[str, Any]:
        """Record a new or deleted group, unless another caller has just recorded it. Return its document."""
        document = {name: value for name, value in document.items() if name != DELETED} | {CREATED: self._clock()}
        _NAMESPACE.check_document(group_id, document)
        store, version, recorded = self._find(group_id)
        if recorded and DELETED not in recorded:
            return recorded
        try:
            store.put_state(SERVER_GROUP, group_id, version, document)
        except errors.VersionConflict:
            return store.find_state(SERVER_GROUP, group_id)[1]
        return document

    def _record(self, group_id: str, document: dict[str, Any]) -> dict[str, Any]:
        """Record a group like ``_put``. Raises QuotaExceeded, also if a parallel call took the project's last group."""
        if document.get("is_external"):
            return self._put(group_id, document)
        project, limit = document["project"], self._limit()
        error = errors.QuotaExceeded.of_message(
            f"Project {project!r} has {limit} server groups, the limit of [scheduler] server_groups: delete one",
            project=project,
            resource="server groups",
            limit=limit,
            used=limit,
            requested=1,
        )
        if self._count_others(project, group_id) >= limit:
            raise error
        document = self._put(group_id, document)
        if self._count_others(project, group_id) >= limit:
            self.delete(group_id, project)
            raise error
        return document

    def _count_others(self, project: str, group_id: str) -> int:
        """Return how many groups the project has, except this one and those of Nova."""
        rows = (row for partition in self._partitions for row in _documents(partition, project=project))
        return sum(name != group_id and not document.get("is_external") for name, document in rows)

    def _check_unused(self, group_id: str) -> None:
        if members := self._count_members(group_id):
            raise errors.GroupInUse(group=group_id, members=members)

    def _count_members(self, group_id: str) -> int:
        members = 0
        for partition in self._partitions:
            with _answering(partition) as store:
                members += sum(store.group_hosts(group_id).values())
        return members


@contextlib.contextmanager
def _answering(partition: OpenPartition) -> Iterator[Store]:
    """Yield a partition's store. Raises StoreUnavailable, at once if the store does not answer others either."""
    if partition.presence.away:
        why = f"partition {partition.name!r}, which may have the server group, does not answer"
        raise errors.StoreUnavailable(why=why)
    try:
        yield partition.store
    except errors.StoreUnavailable:
        partition.presence.record_failure()
        raise


def _check_complete(partition: OpenPartition) -> None:
    """Raise StoreUnavailable if a worker may still repeat server groups that the store has lost."""
    with _answering(partition) as store:
        epoch, _began = store.check_identity()
    if partition.replica.may_lack(epoch, REPEAT_SECONDS):
        why = f"partition {partition.name!r} is being restored after a failover, and may have had the server group"
        raise errors.StoreUnavailable(why=why)


def _documents(
    partition: OpenPartition, marker: str | None = None, project: str | None = None, page_size: int = MAX_PAGE
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (id, document) of the groups of ``project`` (None: all) after ``marker``, sorted by id."""
    rows = _rows(partition, marker, project, page_size)
    yield from ((name, document) for name, _, document in rows if DELETED not in document)


def _rows(
    partition: OpenPartition, marker: str | None = None, project: str | None = None, page_size: int = MAX_PAGE
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield (id, version, document) like ``_documents``, also of deleted groups."""
    with _answering(partition) as store:
        rows = paging.entries(lambda following: store.list_state(SERVER_GROUP, following, page_size), marker)
        yield from (row for row in rows if project in (None, row[2]["project"]))


def _is_recorded_as(group: objects.ServerGroup, document: dict[str, Any]) -> bool:
    return _as_object(group.id, document).values_set() == group.values_set()


def _as_object(group_id: str, document: dict[str, Any]) -> objects.ServerGroup:
    fields = ("name", "project", "policy", "max_per_host")
    return objects.ServerGroup.of(id=group_id, **{name: document[name] for name in fields if name in document})
