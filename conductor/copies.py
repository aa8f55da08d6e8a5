# SPDX-License-Identifier: Apache-2.0
"""Requests about live migrations that are under way: to abort or complete them, and for their progress."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from oslo_log import log

from conductor.requested_changes import RequestedChanges
from conductor.saga.transitions import set_step
from conductor.service_clients import NO_ANSWER_ERRORS, ServiceClients
from conductor.store.interface import ConductorStore
from conductor.store.migrations import MigrationKind, MigrationRecord, MigrationStatus
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects.copy import ABORT, FORCE
from rpcapi.resources import names
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

# Steps in which the guest still runs at its source, and no end of the migration was decided.
ABORTABLE = (SagaStep.BEGIN_MOVE, SagaStep.DESTINATION, SagaStep.PREPARE_COPY, SagaStep.COPY)


class MigrationCopies:
    """Marks live migrations to be aborted or completed, and reads their progress from their sources.

    ``wake`` is called when there is work; ``max_migrations`` limits those of one call.
    """

    def __init__(
        self, store: ConductorStore, clients: ServiceClients, wake: Callable[[], None], max_migrations: int
    ) -> None:
        self._store = store
        self._clients = clients
        self._max_migrations = max_migrations
        self._changes = RequestedChanges(store, wake, max_migrations)

    def abort(self, migrations: Sequence[str]) -> None:
        """Mark live migrations to be aborted: their servers run on at their sources. Aborted ones stay unchanged.

        Raises InvalidRequest or a subclass, UnknownMigration, or InstanceConflict for one that has ended, is complete,
        or is not a live one, before any change; Conflict or StoreUnavailable when the caller must retry.
        """
        self._mark(migrations, _abort, "abort_migrations")

    def force_complete(self, migrations: Sequence[str]) -> None:
        """Mark live migrations to be completed although their guests write faster than they are copied.

        Raises as ``abort``, and InstanceConflict for one whose copy has not begun.
        """
        self._mark(migrations, _force_complete, "force_complete_migrations")

    def list(self, ctxt: RequestContext, migrations: Sequence[str]) -> objects.CopyPage:
        """Return the progress of live migrations that are under way; those of silent sources are left out.

        Raises InvalidRequest or a subclass, or UnknownMigration.
        """
        records = self._read(migrations)
        pages = [
            self._list_of_host(ctxt, host, [record.uuid for record in records.values() if _source(record) == host])
            for host in sorted({_source(record) for record in records.values() if not record.has_ended})
        ]
        return objects.CopyPage.of(
            **{
                name: [value for page in pages if page for value in getattr(page, name)]
                for name in objects.CopyPage.fields
            }
        )

    def _list_of_host(self, ctxt: RequestContext, host: str, uuids: Sequence[str]) -> objects.CopyPage | None:
        try:
            page: objects.CopyPage = self._clients.call_agent(
                ctxt, host, self._clients.compute.list_copies, list(uuids)
            )
        except NO_ANSWER_ERRORS as error:
            LOG.info("No progress of copies from host %s: %s", host, error)
            return None
        return page

    def _mark(
        self,
        migrations: Sequence[str],
        change: Callable[[InstanceRecord, MigrationRecord], InstanceRecord | None],
        method: str,
    ) -> None:
        migration_records = self._read(migrations)
        by_instance = {record.instance: record for record in migration_records.values()}
        if len(by_instance) < len(migration_records):
            raise errors.InvalidRequest(why="two of the migrations are of the same instance")

        def apply(instance: InstanceRecord) -> InstanceRecord | None:
            record = by_instance[instance.uuid]
            current = instance.migration
            return change(instance, current if current is not None and current.uuid == record.uuid else record)

        self._changes.apply(list(by_instance), apply, method)
        LOG.info("%s: recorded for %d live migrations", method, len(migrations))

    def _read(self, migrations: Sequence[str]) -> dict[str, MigrationRecord]:
        check_uuids(migrations, self._max_migrations, "migration")
        records = self._store.migrations(migrations)
        for uuid in migrations:
            if uuid not in records:
                raise errors.UnknownMigration(uuid=uuid)
        return {uuid: records[uuid] for uuid in migrations}


def _abort(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    _check_live(migration)
    if migration.copy_request == ABORT and (migration.status == MigrationStatus.CANCELLED or not migration.has_ended):
        return None
    if migration.has_ended or instance.step not in ABORTABLE or instance.status != InstanceStatus.MIGRATING:
        raise _conflict(instance, migration, "it can be aborted until its server is stopped at its source")
    return set_step(instance, instance.step, migration=replace(migration, copy_request=ABORT))


def _force_complete(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    _check_live(migration)
    if migration.copy_request == FORCE and not migration.has_ended:
        return None
    is_copying = instance.step == SagaStep.COPY and migration.status == MigrationStatus.MIGRATING
    if not is_copying or migration.copy_request == ABORT or instance.status != InstanceStatus.MIGRATING:
        raise _conflict(instance, migration, "it can be completed by force while its server is copied")
    return set_step(instance, instance.step, migration=replace(migration, copy_request=FORCE))


def _check_live(migration: MigrationRecord) -> None:
    if migration.kind != MigrationKind.LIVE:
        why = f"its migration {migration.uuid} is a {migration.kind}; only a {MigrationKind.LIVE} is aborted or forced"
        raise errors.InstanceConflict(uuid=migration.instance, why=why)


def _conflict(instance: InstanceRecord, migration: MigrationRecord, allowed: str) -> errors.InstanceConflict:
    is_aborted = migration.copy_request == ABORT and not migration.has_ended
    state = "being aborted" if is_aborted else f"{migration.status} ({instance.step})"
    if migration.has_ended:
        state = str(migration.status)
    return errors.InstanceConflict(uuid=instance.uuid, why=f"its migration {migration.uuid} is {state}; {allowed}")


def _source(migration: MigrationRecord) -> str:
    return names.host_of(migration.source_host)
