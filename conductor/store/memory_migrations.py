# SPDX-License-Identifier: Apache-2.0
"""Migrations of the in-memory store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from conductor.store.migrations import MigrationRecord
from conductor.store.records import RecordPage


@dataclass(slots=True)
class MemoryMigrations:
    records: dict[str, MigrationRecord] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)  # {uuid: purge time of an ended migration}

    def keep(self, migration: MigrationRecord, sequence: int, now: int, retention_ms: int) -> None:
        """Store the migration of a written instance; only a new migration gets ``sequence``."""
        old = self.records.get(migration.uuid)
        times = (old.sequence, old.created_ms, old.updated_ms) if old else (sequence, now, now)
        record = replace(migration, sequence=times[0], created_ms=times[1], updated_ms=times[2])
        if record != old:
            self.records[migration.uuid] = replace(record, updated_ms=now)
        if record.has_ended:
            self.ends.setdefault(migration.uuid, now + retention_ms)

    def get(self, uuids: Sequence[str]) -> Mapping[str, MigrationRecord]:
        return {uuid: self.records[uuid] for uuid in uuids if uuid in self.records}

    def page(self, after: int, limit: int) -> RecordPage[MigrationRecord]:
        rows = sorted(self.records.values(), key=lambda record: record.sequence)
        page = [record for record in rows if record.sequence > after][:limit]
        return RecordPage(page, str(page[-1].sequence) if len(page) == limit else None)

    def purge(self, now: int, limit: int) -> int:
        expired = sorted((at, uuid) for uuid, at in self.ends.items() if at <= now)[:limit]
        for _, uuid in expired:
            del self.ends[uuid], self.records[uuid]
        return len(expired)
