# SPDX-License-Identifier: Apache-2.0
"""Serialization of records.

An instance is stored as a header line of eight words, which the scripts read and write without decoding JSON, and a
JSON document: ``request status step wake_ms version created_ms updated_ms sequence``.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from conductor.store.migrations import MigrationKind, MigrationRecord, MigrationStatus
from conductor.store.records import SCHEMA, BuildRequestRecord, InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors

_BODY = (
    "attempt",
    "host",
    "allocations",
    "alternates",
    "partition",
    "epoch",
    "position",
    "history",
    "reason",
    "asked",
    "tries",
    "since_ms",
    "certain_epoch",
)


def dump_request(request: BuildRequestRecord) -> str:
    """Return the document of a request, without its key, which is the hash field."""
    values = asdict(request)
    del values["key"]
    if not request.names:
        del values["names"]  # a conductor of the previous release can then read it
    return _dump(values)


def load_request(key: str, text: str) -> BuildRequestRecord:
    """Return the request with this key; raises StoreUnavailable for an unknown schema version."""
    return BuildRequestRecord(key=key, **_load(text))


def dump_instance(instance: InstanceRecord) -> str:
    """Return the JSON document of an instance; the store writes the header line itself."""
    values = {name: getattr(instance, name) for name in _BODY}
    if instance.migration is not None:  # a conductor of the previous release can read the others
        values["migration"] = _migration_values(instance.migration)
    if instance.operation:
        values["operation"] = instance.operation  # otherwise conductors of the previous release can read it
    if instance.is_shelved:
        values["is_shelved"] = True
    return _dump(values)


def load_instance(uuid: str, text: str) -> InstanceRecord:
    """Return the instance with this uuid; raises StoreUnavailable for an unknown schema version."""
    header, _, body = text.partition("\n")
    request, status, step, *numbers = header.split(" ")
    wake_ms, version, created_ms, updated_ms, sequence = map(int, numbers)
    values = _load(body)
    migration = values.pop("migration", None)
    return InstanceRecord(
        uuid=uuid,
        request=request,
        status=InstanceStatus(status),
        step=SagaStep(step),
        wake_ms=wake_ms,
        version=version,
        created_ms=created_ms,
        updated_ms=updated_ms,
        sequence=sequence,
        migration=None if migration is None else _make_migration(migration),
        **values,
    )


def dump_migration(migration: MigrationRecord) -> str:
    """Return the JSON document of a migration; the store writes its header line: ``sequence created_ms updated_ms``."""
    return _dump(_migration_values(migration))


def load_migration(text: str) -> MigrationRecord:
    """Return the migration; raises StoreUnavailable for an unknown schema version."""
    header, _, body = text.partition("\n")
    sequence, created_ms, updated_ms = map(int, header.split(" "))
    return _make_migration(_load(body), sequence=sequence, created_ms=created_ms, updated_ms=updated_ms)


def _migration_values(migration: MigrationRecord) -> dict[str, Any]:
    values = asdict(migration)
    for name in ("sequence", "created_ms", "updated_ms"):
        del values[name]
    return values


def _make_migration(values: Mapping[str, Any], **numbers: int) -> MigrationRecord:
    kind, status = MigrationKind(values["kind"]), MigrationStatus(values["status"])
    return MigrationRecord(**{**values, "kind": kind, "status": status, **numbers})


def _dump(values: Mapping[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA, **values}, separators=(",", ":"))


def _load(text: str) -> dict[str, Any]:
    values = json.loads(text)
    schema = values.pop("schema", None)
    if schema != SCHEMA:
        raise errors.StoreUnavailable(
            why=f"it contains a document of schema {schema}, but this conductor supports {SCHEMA}: upgrade it"
        )
    return values
