# SPDX-License-Identifier: Apache-2.0
"""Reads of migrations, returned as objects of the RPC API."""

from collections.abc import Iterable, Sequence

from oslo_log import log

from conductor.collaborators import NO_ANSWER_ERRORS, Conductor, ServiceClients
from conductor.lookup import check_project, find_migrations
from conductor.store.interface import PAGE, ConductorStore
from conductor.store.migrations import MigrationRecord
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


def get_migrations(conductor: Conductor, uuids: Sequence[str], project: str | None = None) -> objects.MigrationPage:
    """Return the migrations in the order of ``uuids``; with ``project``, refuse other projects' migrations.

    Raises UnknownMigration (with ``project`` also if the instance is no longer recorded), and InvalidRequest or a
    subclass, such as CallerRefused.
    """
    check_uuids(uuids, conductor.max_instances, "migration")
    records = find_migrations(conductor.store, uuids)
    if project is not None:
        instances = conductor.store.get(sorted({record.instance for record in records.values()}))
        for record in records.values():
            if record.instance not in instances:
                raise errors.UnknownMigration(uuid=record.uuid)
        check_project(conductor.store, instances.values(), project, "get_migrations")
    return _page(records.values(), None)


def list_migrations(store: ConductorStore, marker: str | None, limit: int) -> objects.MigrationPage:
    """Return at most min(``limit``, PAGE) migrations, oldest first; raises InvalidRequest.

    A record of a newer release keeps its stored kind and status; ``reason`` tells why it cannot be read.
    """
    if limit < 1:
        raise errors.InvalidRequest(why=f"limit must be a positive integer, got {limit}")
    page = store.page_migrations(marker, min(limit, PAGE))
    rows = sorted([*page.records, *page.unreadable], key=lambda record: record.sequence)
    return _page(rows, page.marker)


def list_copies(conductor: Conductor, ctxt: RequestContext, migrations: Sequence[str]) -> objects.CopyPage:
    """Return the progress of live migrations whose source answers; raises UnknownMigration or InvalidRequest."""
    check_uuids(migrations, conductor.max_instances, "migration")
    records = find_migrations(conductor.store, migrations)
    pages = []
    for host in sorted({_source(record) for record in records.values() if not record.has_ended}):
        uuids = [record.uuid for record in records.values() if _source(record) == host]
        pages.append(_list_of_host(conductor.clients, ctxt, host, uuids))
    return objects.CopyPage.of(
        **{name: [value for page in pages if page for value in getattr(page, name)] for name in objects.CopyPage.fields}
    )


def _list_of_host(
    clients: ServiceClients, ctxt: RequestContext, host: str, uuids: Sequence[str]
) -> objects.CopyPage | None:
    try:
        page: objects.CopyPage = clients.call_agent(ctxt, host, clients.compute.list_copies, list(uuids))
    except NO_ANSWER_ERRORS as error:
        LOG.info("Cannot read the progress of copies from host %s: %s", host, error)
        return None
    return page


def _page(records: Iterable[MigrationRecord], marker: str | None) -> objects.MigrationPage:
    return objects.MigrationPage.of(migrations=[_shown(record) for record in records], marker=marker)


def _shown(record: MigrationRecord) -> objects.Migration:
    values = {name: getattr(record, name) for name in objects.Migration.fields}
    history = [dict(entry) for entry in record.history]
    return objects.Migration.of(
        **{**values, "kind": str(record.kind), "status": str(record.status), "history": history}
    )


def _source(migration: MigrationRecord) -> str:
    return names.host_of(migration.source_host)
