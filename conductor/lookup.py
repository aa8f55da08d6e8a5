# SPDX-License-Identifier: Apache-2.0
"""Lookup of records by uuid; each must exist."""

from collections.abc import Sequence

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
