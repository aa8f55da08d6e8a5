# SPDX-License-Identifier: Apache-2.0
"""Read access to migrations, as the RPC API returns them."""

from collections.abc import Iterable, Sequence

from conductor.store.interface import PAGE, ConductorStore
from conductor.store.migrations import MigrationRecord
from rpcapi import errors, objects
from rpcapi.validation.instances import check_uuids


class MigrationReader:
    """Reads migrations from the store; ``max_migrations`` limits those of one call."""

    def __init__(self, store: ConductorStore, max_migrations: int) -> None:
        self._store = store
        self._max_migrations = max_migrations

    def get(self, uuids: Sequence[str]) -> objects.MigrationPage:
        """Return the migrations in the order of ``uuids``; raises UnknownMigration, InvalidRequest or a subclass."""
        check_uuids(uuids, self._max_migrations)
        records = self._store.migrations(uuids)
        for uuid in uuids:
            if uuid not in records:
                raise errors.UnknownMigration(uuid=uuid)
        return _page((records[uuid] for uuid in uuids), None)

    def list(self, marker: str | None, limit: int) -> objects.MigrationPage:
        """Return at most min(``limit``, PAGE) migrations, oldest first; raises InvalidRequest."""
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise errors.InvalidRequest(why=f"limit must be a positive integer, got {str(limit)[:40]!r}")
        if marker is not None and not isinstance(marker, str):
            raise errors.InvalidRequest(why="marker must be the string that the previous page returned")
        page = self._store.page_migrations(marker, min(limit, PAGE))
        return _page(page.migrations, page.marker)


def _page(records: Iterable[MigrationRecord], marker: str | None) -> objects.MigrationPage:
    migrations = [
        objects.Migration.of(
            uuid=record.uuid,
            instance=record.instance,
            kind=record.kind.value,
            status=record.status.value,
            source_host=record.source_host,
            source_partition=record.source_partition,
            source_attempt=record.source_attempt,
            target=record.target,
            destination_host=record.destination_host,
            destination_attempt=record.destination_attempt,
            history=[dict(entry) for entry in record.history],
            old_flavor=record.old_flavor,
            new_flavor=record.new_flavor,
            request_id=record.request_id,
            reason=record.reason,
            created_ms=record.created_ms,
            updated_ms=record.updated_ms,
        )
        for record in records
    ]
    return objects.MigrationPage.of(migrations=migrations, marker=marker)
