# SPDX-License-Identifier: Apache-2.0
"""Progress of live migrations."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rpcapi.admin import Session
from rpcapi.resources.statuses import MigrationKind, MigrationStatus

COPYING = (MigrationStatus.PREPARING, MigrationStatus.MIGRATING)  # statuses of live migrations that report progress
CHUNK = 100


class CopyProgress(NamedTuple):
    phase: str
    total_mb: int
    remaining_mb: int
    copied_mb: int


def read_progress(session: Session, migrations: Iterable[Any]) -> dict[str, CopyProgress]:
    uuids = [item.uuid for item in migrations if item.kind == MigrationKind.LIVE and item.status in COPYING]
    progress: dict[str, CopyProgress] = {}
    for start in range(0, len(uuids), CHUNK):
        page = session.call(session.conductor.list_copies, uuids[start : start + CHUNK])
        rows = page.rows("migrations", "phases", "total_mb", "remaining_mb", "copied_mb")
        progress |= {migration: CopyProgress(*copy) for migration, *copy in rows}
    return progress
