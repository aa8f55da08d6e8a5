# SPDX-License-Identifier: Apache-2.0
"""Export of gantt's providers, consumers and custom names to a Placement database."""

from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.database_writer import DatabaseWriter
from scheduler_svc.placement.migration.failures import CopyRefused
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.placement.migration.switchover import Switchover


def export(source: StoreReader, database: PlacementDatabase, report: Report, *, dry_run: bool = False) -> bool:
    """Make a Placement database equal to gantt in one transaction; ``dry_run`` rolls it back.

    Returns whether everything could be written. Raises CopyRefused or PlacementUnavailable and leaves the database
    unchanged.
    """
    contents = source.read()
    if not contents.providers:
        raise CopyRefused("gantt has no imported or client-created provider: nothing is exported")
    target = DatabaseReader(database).read()
    with database.transaction(commit=not dry_run) as connection:
        writer = DatabaseWriter(connection)
        is_complete = Switchover(lambda: contents, lambda: target, writer, report).copy()
        writer.finish()
    return is_complete
