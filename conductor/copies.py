# SPDX-License-Identifier: Apache-2.0
"""Requests about live migrations that are under way: to abort or complete them, and for their progress."""

from collections.abc import Sequence
from dataclasses import replace

from oslo_log import log

from conductor.lookup import find_migrations
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
    """Reads the progress of live migrations from their sources; ``max_migrations`` limits those of one call."""

    def __init__(self, store: ConductorStore, clients: ServiceClients, max_migrations: int) -> None:
        self._store = store
        self._clients = clients
        self._max_migrations = max_migrations

    def list(self, ctxt: RequestContext, migrations: Sequence[str]) -> objects.CopyPage:
        """Return the progress of live migrations that are under way; those of silent sources are left out.

        Raises InvalidRequest or a subclass, or UnknownMigration.
        """
        check_uuids(migrations, self._max_migrations, "migration")
        records = find_migrations(self._store, migrations)
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


def abort(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    """Return the record whose live migration is to be aborted: its server runs on at its source. None if it is already.

    Raises InstanceConflict for a migration that has ended, is complete, or is not a live one.
    """
    _check_live(migration)
    if migration.copy_request == ABORT and (migration.status == MigrationStatus.CANCELLED or not migration.has_ended):
        return None
    if migration.has_ended or instance.step not in ABORTABLE or instance.status != InstanceStatus.MIGRATING:
        raise _conflict(instance, migration, "it can be aborted until its server is stopped at its source")
    return set_step(instance, instance.step, migration=replace(migration, copy_request=ABORT))


def force_complete(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    """Return the record whose live migration is to be completed although its guest writes faster than it is copied.

    None if it is already. Raises InstanceConflict for a migration that is not being copied.
    """
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
