# SPDX-License-Identifier: Apache-2.0
"""Log lines and metrics of status changes."""

from collections import Counter
from collections.abc import Collection, Iterable

from oslo_log import log

from conductor import metrics
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus

LOG = log.getLogger(__name__)

LOGGED = (
    *(InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF, InstanceStatus.SHELVED_OFFLOADED, InstanceStatus.VERIFY_RESIZE),
    InstanceStatus.DELETED,
)
MAX_REASONS = 5  # log lines per batch; each record has its own reason


def report_changes(before: Iterable[InstanceRecord], after: Iterable[InstanceRecord], stale: Collection[str]) -> None:
    """Log status changes, one line per status, and count ended migrations; skip uuids in ``stale``."""
    previous_by_uuid = {record.uuid: record for record in before}
    changed = [
        (previous_by_uuid[record.uuid], record)
        for record in after
        if record.uuid in previous_by_uuid and record.uuid not in stale
    ]
    selected = sum(previous.step == SagaStep.SELECT and current.step == SagaStep.CAST for previous, current in changed)
    if selected:
        LOG.info("Selected hosts for %d instances", selected)
    status_changes = [current for previous, current in changed if current.status != previous.status]
    for status in LOGGED:
        count = sum(record.status == status for record in status_changes)
        if count:
            LOG.info("%d instances are %s", count, status)
    _log_errors([record for record in status_changes if record.status == InstanceStatus.ERROR])
    for previous, current in changed:
        migration = _ended_migration(current)
        if migration is not None and _ended_migration(previous) is None:
            metrics.MIGRATIONS.labels(migration.kind, migration.status).inc()


def _ended_migration(record: InstanceRecord) -> MigrationRecord | None:
    migration = record.migration
    return migration if migration is not None and migration.has_ended else None


def _log_errors(failed: Collection[InstanceRecord]) -> None:
    reasons = Counter(" ".join((record.reason or "no reason recorded").split()) for record in failed).most_common()
    for reason, count in reasons[:MAX_REASONS]:
        LOG.info("%d instances are %s: %s", count, InstanceStatus.ERROR, reason)
    other_count = sum(count for _, count in reasons[MAX_REASONS:])
    if other_count:
        LOG.info(
            "%d instances are %s for other reasons: 'gantt server list' shows them", other_count, InstanceStatus.ERROR
        )
