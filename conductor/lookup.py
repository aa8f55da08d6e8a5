# SPDX-License-Identifier: Apache-2.0
"""Lookup of records by uuid: each must exist, and belong to the project for which a caller acts."""

from collections.abc import Iterable, Sequence

from conductor.store.interface import ConductorStore
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord
from rpcapi import errors


def find_instances(store: ConductorStore, uuids: Sequence[str]) -> dict[str, InstanceRecord]:
    """Return {uuid: instance} in the order of ``uuids``; raises UnknownInstance."""
    records = store.get(uuids)
    for uuid in uuids:
        if uuid not in records:
            raise errors.UnknownInstance(uuid=uuid)
    return {uuid: records[uuid] for uuid in uuids}


def find_migrations(store: ConductorStore, uuids: Sequence[str]) -> dict[str, MigrationRecord]:
    """Return {uuid: migration} in the order of ``uuids``; raises UnknownMigration."""
    records = store.migrations(uuids)
    for uuid in uuids:
        if uuid not in records:
            raise errors.UnknownMigration(uuid=uuid)
    return {uuid: records[uuid] for uuid in uuids}


def check_project(store: ConductorStore, records: Iterable[InstanceRecord], project: str | None, method: str) -> None:
    """Raise CallerRefused unless all instances belong to ``project``; None allows every instance.

    An instance whose request was purged is refused.
    """
    if project is None:
        return
    records = list(records)
    requests = store.requests(sorted({record.request for record in records}))
    for record in records:
        request = requests.get(record.request)
        if request is None or request.project != project:
            raise errors.CallerRefused(
                caller=f"a client of project {project!r}",
                service="conductor",
                method=method,
                why=f"instance {record.uuid} belongs to another project",
            )
