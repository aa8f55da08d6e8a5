# SPDX-License-Identifier: Apache-2.0
"""Writes of requested changes to instance records, without a lease; the saga executes the changes."""

from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.collaborators import Conductor
from conductor.lookup import check_project, find_instances, find_migrations
from conductor.store.interface import NO_LIMITS, ProjectLimits
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord
from rpcapi import errors
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

MAX_WRITE_ATTEMPTS = 20  # optimistic writes of a record before the call fails with Conflict


def apply(
    conductor: Conductor,
    uuids: Sequence[str],
    change: Callable[[InstanceRecord], InstanceRecord | None],
    method: str,
    project: str | None = None,
    *,
    limits: ProjectLimits = NO_LIMITS,
) -> None:
    """Write the records that ``change`` returns (None: unchanged); repeat for stale records.

    With ``project``, instances of other projects are refused. ``limits`` are {project: quota limits} for instances that
    start to count again. Raises, before any change, InvalidRequest or a subclass such as CallerRefused and
    UnknownInstance; QuotaExceeded; Conflict or StoreUnavailable if the caller must retry.
    """
    check_uuids(uuids, conductor.max_instances)
    remaining = list(uuids)
    for _ in range(MAX_WRITE_ATTEMPTS):
        records = find_instances(conductor.store, remaining)
        check_project(conductor.store, records.values(), project, method)
        updates = [update for record in records.values() if (update := change(record)) is not None]
        result = conductor.store.write_without_lease(updates, wake=True, limits=limits) if updates else None
        remaining = list(result.stale) if result else []
        if not remaining:
            conductor.wake()
            LOG.info("%s: recorded for %d instances", method, len(uuids))
            return
    raise errors.Conflict(what=f"The change of {remaining[0]}", why="too many concurrent updates of its record; retry")


def pair_migrations(uuids: Sequence[str], migrations: Sequence[str], max_instances: int) -> dict[str, str]:
    """Return {instance: migration uuid} of a call; raises InvalidRequest or a subclass."""
    check_uuids(uuids, max_instances)
    check_uuids(migrations, max_instances, "migration")
    if len(migrations) != len(uuids):
        why = f"each of {len(uuids)} instances needs the uuid of its migration, got {len(migrations)}"
        raise errors.InvalidRequest(why=why)
    return dict(zip(uuids, migrations, strict=True))


def apply_to_migrations(
    conductor: Conductor,
    migrations: Sequence[str],
    change: Callable[[InstanceRecord, MigrationRecord], InstanceRecord | None],
    method: str,
    project: str | None = None,
) -> None:
    """Write the record that ``change`` returns for each migration's instance, like ``apply``.

    ``change`` gets the instance's current migration, or this one's own record if a later migration replaced it. Also
    raises UnknownMigration.
    """
    check_uuids(migrations, conductor.max_instances, "migration")
    by_instance = {record.instance: record for record in find_migrations(conductor.store, migrations).values()}
    if len(by_instance) < len(migrations):
        raise errors.InvalidRequest(why="two migrations are of the same instance")

    def change_instance(instance: InstanceRecord) -> InstanceRecord | None:
        record, current = by_instance[instance.uuid], instance.migration
        return change(instance, current if current is not None and current.uuid == record.uuid else record)

    apply(conductor, list(by_instance), change_instance, method, project)
