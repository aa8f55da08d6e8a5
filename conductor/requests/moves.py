# SPDX-License-Identifier: Apache-2.0
"""Requests to migrate, resize, confirm and revert; the saga executes them.

Only instances of ``project`` (None: all) may move. Functions that begin moves raise InvalidRequest or a subclass
(CallerRefused, UnknownInstance, InstanceConflict) before any change, and Conflict or StoreUnavailable if the caller
must retry.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from conductor.admission import count_amounts
from conductor.collaborators import Conductor
from conductor.requests import requested_changes
from conductor.requests.group_members import moving_groups
from conductor.requests.target_checks import check_target
from conductor.resized_spec import flavor_with_image, larger_amounts, resize_spec
from conductor.saga.destinations import destination_spec
from conductor.saga.moves import begin_move, confirm_move, revert_move
from conductor.saga.step_context import instance_spec
from conductor.store.interface import ConductorStore
from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects.request_schema import check_spec
from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

MOVABLE = (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF)
CONFIRMED = (MigrationStatus.CONFIRMING, MigrationStatus.CONFIRMED)
REVERTED = (MigrationStatus.REVERTING, MigrationStatus.REVERTED)


class Move(NamedTuple):
    """Requested move. ``flavors``: specs by image, empty for a migration. ``group``: its affinity group's moves."""

    request_id: str
    target: str | None
    allow_cross_cell: bool
    flavors: Sequence[objects.RequestSpec] = ()
    is_live: bool = False
    group: Sequence[str] = ()

    @property
    def kind(self) -> MigrationKind:
        if self.is_live:
            return MigrationKind.LIVE
        return MigrationKind.RESIZE if self.flavors else MigrationKind.MIGRATION


def migrate(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    migrations: Sequence[str],
    host: str | None = None,
    *,
    allow_cross_cell: bool = False,
    project: str | None = None,
) -> None:
    """Begin migrations of ACTIVE and SHUTOFF instances, each under its migration uuid. Idempotent.

    Members of an affinity group all get a destination or none (also in ``live_migrate`` and ``resize``). Raises
    UnknownHost or NoValidHost if ``host``, the only allowed destination, does not fit the instances now.
    """
    move = Move(ctxt.request_id, None if host is None else names.canonical(host), allow_cross_cell)
    _begin(conductor, ctxt, uuids, migrations, move, method="migrate_instances", project=project)


def live_migrate(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    migrations: Sequence[str],
    host: str | None = None,
    *,
    project: str | None = None,
) -> None:
    """Begin live migrations of ACTIVE instances within their partitions; otherwise like ``migrate``."""
    target = None if host is None else names.canonical(host)
    move = Move(ctxt.request_id, target, allow_cross_cell=False, is_live=True)
    _begin(conductor, ctxt, uuids, migrations, move, method="live_migrate_instances", project=project)


def resize(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    migrations: Sequence[str],
    flavors: Sequence[objects.RequestSpec],
    *,
    allow_cross_cell: bool = False,
    project: str | None = None,
) -> None:
    """Begin resizes; ``flavors`` has one spec per image. Also raises InvalidSpec and QuotaExceeded."""
    if len(flavors) > max(1, len(uuids)):
        raise errors.InvalidRequest(why=f"{len(uuids)} instances can have at most as many images, got {len(flavors)}")
    for flavor in flavors:
        # The server keeps its image; _begin_resize checks both together.
        check_spec(flavor.with_values(image={}) if isinstance(flavor, objects.RequestSpec) else flavor)
    move = Move(ctxt.request_id, None, allow_cross_cell, flavors)
    _begin(conductor, ctxt, uuids, migrations, move, method="resize_instances", project=project)


def _begin(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    migrations: Sequence[str],
    move: Move,
    *,
    method: str,
    project: str | None,
) -> None:
    migration_uuids = requested_changes.pair_migrations(uuids, migrations, conductor.max_instances)
    repeated = _check_migrations(conductor.store, migration_uuids)
    records = conductor.store.get(uuids)
    requests = conductor.store.requests(sorted({record.request for record in records.values()}))
    groups = moving_groups(records, requests, migration_uuids)

    def change(record: InstanceRecord) -> InstanceRecord | None:
        if record.uuid in repeated:
            return None
        request = requests.get(record.request)
        if request is None:
            raise errors.UnknownInstance(uuid=record.uuid)
        moving = move._replace(group=groups.get(record.uuid, ()))
        return begin(record, request, migration_uuids[record.uuid], moving, conductor.clients.partition)

    if move.target is not None:
        specs = [
            destination_spec(
                instance_spec(record, requests[record.request]), record.move, conductor.clients.partition
            ).with_values(group_id=None, group_policy=None, group_max_per_host=None)
            for record in map(change, records.values())
            if record
        ]
        check_target(conductor.clients, ctxt, move.target, specs)
    projects = {request.project for request in requests.values()} if move.flavors else ()
    limits = {name: conductor.limits.of_project(name) for name in projects}
    requested_changes.apply(conductor, uuids, change, method, project, limits=limits)


def _check_migrations(store: ConductorStore, migration_uuids: Mapping[str, str]) -> set[str]:
    recorded = store.migrations(list(migration_uuids.values()))
    for uuid in store.get(list(migration_uuids.values())):
        raise errors.InvalidRequest(why=f"{uuid} is the uuid of an instance and cannot identify a migration")
    repeated = set()
    for instance, uuid in migration_uuids.items():
        if uuid in recorded and recorded[uuid].instance != instance:
            raise errors.InvalidRequest(why=f"migration {uuid} belongs to instance {recorded[uuid].instance}")
        repeated |= {instance} if uuid in recorded else set()
    return repeated


def begin(
    instance: InstanceRecord, request: BuildRequestRecord, uuid: str, move: Move, partition: str
) -> InstanceRecord | None:
    """Return the record with the begun move; None if begun before. Raises InstanceConflict, InvalidRequest."""
    if instance.migration is not None and instance.migration.uuid == uuid:
        return None
    movable = MOVABLE[:1] if move.is_live else MOVABLE
    if instance.status not in movable or instance.step != SagaStep.DONE or instance.host is None:
        what = {MigrationKind.LIVE: "migrated live", MigrationKind.RESIZE: "resized"}.get(move.kind, "migrated")
        raise errors.InstanceConflict(
            uuid=instance.uuid, why=f"it is {instance.status}; it must be {' or '.join(movable)} to be {what}"
        )
    migration = MigrationRecord(
        uuid=uuid,
        instance=instance.uuid,
        kind=move.kind,
        source_host=instance.host,
        source_partition=instance.partition or partition,
        source_attempt=instance.attempt,
        source_allocations=instance.allocations,
        target=move.target,
        allow_cross_cell=move.allow_cross_cell,
        old_flavor=instance.flavor or request.flavor,
        new_flavor=instance.flavor or request.flavor,
        was_stopped=instance.status == InstanceStatus.SHUTOFF,
        group=move.group,
        request_id=move.request_id,
    )
    if not move.flavors:
        _check_not_source(instance, move.target)
        return begin_move(instance, migration)
    return _begin_resize(instance, request, migration, move.flavors)


def _begin_resize(
    instance: InstanceRecord,
    request: BuildRequestRecord,
    migration: MigrationRecord,
    flavors: Sequence[objects.RequestSpec],
) -> InstanceRecord:
    """Return the record with the begun resize; until it ends, quota counts the larger amounts."""
    spec = instance_spec(instance, request)
    flavor = flavor_with_image(flavors, spec.image, instance.uuid)
    resized = resize_spec(spec, flavor)
    if resized.obj_to_primitive() == spec.obj_to_primitive():
        raise errors.InvalidSpec(why=f"instance {instance.uuid} already has flavor {flavor.flavor!r}")
    check_spec(resized)
    amounts = larger_amounts(instance.amounts or count_amounts(spec), count_amounts(resized))
    resizing = replace(migration, spec=resized.obj_to_primitive(), new_flavor=resized.flavor)
    return replace(begin_move(instance, resizing), amounts=amounts)


def _check_not_source(instance: InstanceRecord, target: str | None) -> None:
    source = instance.host or ""
    if target is not None and names.matches(names.fold(source), names.fold(target)):
        raise errors.InvalidRequest(why=f"instance {instance.uuid} is on {source}: another host is required")


def confirm(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    """Return the record with the confirmed move; None if confirmed before. Raises InstanceConflict."""
    return confirm_move(instance) if _is_finished(instance, migration, CONFIRMED, "be confirmed") else None


def revert(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord | None:
    """Return the record with the move in reversal; None if reverted before. Raises InstanceConflict."""
    return revert_move(instance) if _is_finished(instance, migration, REVERTED, "be reverted") else None


def _is_finished(
    instance: InstanceRecord, migration: MigrationRecord, done: Collection[MigrationStatus], what: str
) -> bool:
    """Return True if the move awaits confirm or revert, False if ``done``; else raise InstanceConflict."""
    if instance.migration is None or instance.migration.uuid != migration.uuid:
        raise errors.InstanceConflict(uuid=instance.uuid, why=f"migration {migration.uuid} is not its last migration")
    if migration.status in done:
        return False
    if migration.status != MigrationStatus.FINISHED or instance.status != InstanceStatus.VERIFY_RESIZE:
        why = f"it is {instance.status}, and its migration {migration.status}; only a finished migration can {what}"
        raise errors.InstanceConflict(uuid=instance.uuid, why=why)
    return True
