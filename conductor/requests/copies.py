# SPDX-License-Identifier: Apache-2.0
"""Requests to abort or complete running live migrations."""

from dataclasses import replace

from conductor.saga.transitions import set_step
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.objects.copy import ABORT, FORCE
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

# Steps in which the guest runs at its source and the outcome is open.
ABORTABLE = (SagaStep.BEGIN_MOVE, SagaStep.DESTINATION, SagaStep.PREPARE_COPY, SagaStep.COPY)


def abort(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    """Return the record with an abort request; None if already requested.

    Raises InstanceConflict unless a live migration is in progress and its guest runs at the source.
    """
    _check_live(migration)
    if migration.copy_request == ABORT and (migration.status == MigrationStatus.CANCELLED or not migration.has_ended):
        return None
    if migration.has_ended or instance.step not in ABORTABLE or instance.status != InstanceStatus.MIGRATING:
        raise _conflict(instance, migration, "it can be aborted until its server is stopped at the source")
    return set_step(instance, instance.step, migration=replace(migration, copy_request=ABORT))


def force_complete(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    """Return the record with a request to complete its copy; None if already requested.

    Raises InstanceConflict.
    """
    _check_live(migration)
    if migration.copy_request == FORCE and not migration.has_ended:
        return None
    is_copying = instance.step == SagaStep.COPY and migration.status == MigrationStatus.MIGRATING
    if not is_copying or migration.copy_request == ABORT or instance.status != InstanceStatus.MIGRATING:
        raise _conflict(instance, migration, "it can be forced to complete while its server is copied")
    return set_step(instance, instance.step, migration=replace(migration, copy_request=FORCE))


def _check_live(migration: MigrationRecord) -> None:
    if migration.kind != MigrationKind.LIVE:
        why = (
            f"its migration {migration.uuid} is a {migration.kind}; only a {MigrationKind.LIVE} migration "
            "can be aborted or forced"
        )
        raise errors.InstanceConflict(uuid=migration.instance, why=why)


def _conflict(instance: InstanceRecord, migration: MigrationRecord, allowed: str) -> errors.InstanceConflict:
    is_aborted = migration.copy_request == ABORT and not migration.has_ended
    state = "being aborted" if is_aborted else f"{migration.status} ({instance.step})"
    if migration.has_ended:
        state = str(migration.status)
    return errors.InstanceConflict(uuid=instance.uuid, why=f"its migration {migration.uuid} is {state}; {allowed}")
