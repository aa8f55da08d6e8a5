# SPDX-License-Identifier: Apache-2.0
"""Ended statuses of migrations, and the progress of live migrations."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rpcapi.admin import Session

ENDED_MIGRATIONS = frozenset({"confirmed", "reverted", "error", "completed", "cancelled"})
LIVE, COPYING = "live-migration", ("preparing", "migrating")  # migrations that report progress
CHUNK = 100


class CopyProgress(NamedTuple):
    phase: str
    total_mb: int
    remaining_mb: int
    copied_mb: int


def read_progress(session: Session, migrations: Iterable[Any]) -> dict[str, CopyProgress]:
    uuids = [item.uuid for item in migrations if item.kind == LIVE and item.status in COPYING]
    progress: dict[str, CopyProgress] = {}
    for start in range(0, len(uuids), CHUNK):
        page = session.call(session.conductor.list_copies, uuids[start : start + CHUNK])
        rows = page.rows("migrations", "phases", "total_mb", "remaining_mb", "copied_mb")
        progress |= {migration: CopyProgress(*copy) for migration, *copy in rows}
    return progress
