# SPDX-License-Identifier: Apache-2.0
"""Reads of instances, returned as objects of the RPC API."""

from collections.abc import Iterator, Sequence

from conductor.collaborators import Conductor
from conductor.lookup import check_project, find_instances
from conductor.saga.step_context import instance_spec
from conductor.store.interface import PAGE, ConductorStore
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.validation.instances import check_uuids


def get_instances(conductor: Conductor, uuids: Sequence[str], project: str | None = None) -> objects.InstancePage:
    """Return the instances in the order of ``uuids``; with ``project``, refuse instances of other projects.

    Raises UnknownInstance, InvalidRequest or a subclass, such as CallerRefused.
    """
    return _page(conductor.store, _records(conductor, uuids, project, "get_instances"), None)


def _records(conductor: Conductor, uuids: Sequence[str], project: str | None, method: str) -> list[InstanceRecord]:
    check_uuids(uuids, conductor.max_instances)
    records = list(find_instances(conductor.store, uuids).values())
    check_project(conductor.store, records, project, method)
    return records


def get_specs(conductor: Conductor, uuids: Sequence[str], project: str | None = None) -> list[objects.RequestSpec]:
    """Return the request specs in the order of ``uuids``. Raises like ``get_instances``."""
    records = _records(conductor, uuids, project, "get_specs")
    requests = conductor.store.requests(sorted({record.request for record in records}))
    return [instance_spec(record, requests[record.request]) for record in records]


def list_instances(
    store: ConductorStore, marker: str | None, limit: int, *, deleted: bool, project: str | None = None
) -> objects.InstancePage:
    """Return at most min(``limit``, PAGE) instances, oldest first; raises InvalidRequest.

    For a record of a newer release, ``status`` is its header's, and ``reason`` tells why it cannot be read. ``project``
    filters the next PAGE instances of all projects, so a page may be empty although more follow.
    """
    if limit < 1:
        raise errors.InvalidRequest(why=f"limit must be a positive integer, got {limit}")
    limit = min(limit, PAGE)
    page = store.page(marker, limit if project is None else PAGE, deleted=bool(deleted))
    rows = sorted([*page.records, *page.unreadable], key=lambda record: record.sequence)
    if project is None:
        return _page(store, rows, page.marker)
    requests = _requests(store, rows)
    own = {key for key, request in requests.items() if request.project == project}
    records = [record for record in rows if record.request in own]
    next_marker = page.marker if len(records) <= limit else str(records[limit - 1].sequence)
    return _page(store, records[:limit], next_marker)


def list_hosts(store: ConductorStore, partition: str) -> objects.RecordedHosts:
    """Return the service hosts in a partition that records name, at either end of a move.

    Skips deleted instances. Raises NewerRecord, because no host may be missing.
    """
    hosts: set[str] = set()
    marker = None
    while True:
        page = store.page(marker, PAGE, deleted=False)
        for unreadable in page.unreadable:
            raise errors.NewerRecord.of_message(str(unreadable.reason))
        hosts |= {host for record in page.records for host in _hosts_of(record, partition)}
        marker = page.marker
        if marker is None:
            return objects.RecordedHosts.of(hosts=sorted(hosts), epoch=store.epoch())


def _page(store: ConductorStore, records: Sequence[InstanceRecord], marker: str | None) -> objects.InstancePage:
    requests = _requests(store, records)
    # A request may have been purged between the two reads.
    instances = [_shown(record, requests[record.request]) for record in records if record.request in requests]
    return objects.InstancePage.of(instances=instances, marker=marker)


def _requests(store: ConductorStore, records: Sequence[InstanceRecord]) -> dict[str, BuildRequestRecord]:
    keys = sorted({record.request for record in records})
    try:
        return store.requests(keys)
    except errors.NewerRecord:
        return {key: request for key in keys for request in _readable(store, key)}


def _readable(store: ConductorStore, key: str) -> Sequence[BuildRequestRecord]:
    try:
        return tuple(store.requests([key]).values())
    except errors.NewerRecord:
        return [BuildRequestRecord(key, request_id="", project="", user="", flavor=None, spec={})]


def _shown(record: InstanceRecord, request: BuildRequestRecord) -> objects.Instance:
    return objects.Instance.of(
        uuid=record.uuid,
        request_id=request.request_id,
        project_id=request.project,
        user_id=request.user,
        flavor=record.flavor or request.flavor,
        status=str(record.shown_status),
        host=record.guest_host,
        attempt=record.attempt,
        reason=record.reason,
        history=[dict(entry) for entry in record.history],
        created_ms=record.created_ms,
        updated_ms=record.updated_ms,
        name=request.names.get(record.uuid),
        migration=None if record.migration is None else record.migration.uuid,
        group_id=request.spec.get("gantt_object.data", {}).get("group_id"),  # also of a newer release's spec
    )


def _hosts_of(record: InstanceRecord, partition: str) -> Iterator[str]:
    if record.host is not None and record.partition == partition:
        yield names.host_of(record.host)
    migration = record.open_migration
    if migration is not None and migration.source_partition == partition:
        yield names.host_of(migration.source_host)
