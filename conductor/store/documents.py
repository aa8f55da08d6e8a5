# SPDX-License-Identifier: Apache-2.0
"""Serialization of records.

An instance is stored as a header line and a JSON document. The header has eight words, which scripts read and write
without decoding JSON: ``request status step wake_ms version created_ms updated_ms sequence``.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from conductor.store.migrations import MigrationRecord
from conductor.store.records import SCHEMA, BuildRequestRecord, InstanceRecord, Record, SagaStep
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

Word = TypeVar("Word", bound=StrEnum)

UNREADABLE_ATTEMPT = 0  # attempt shown if a newer release wrote the document
# Fields of a migration that are shown if its document cannot be read.
SHOWN_WORDS = ("instance", "kind", "status", "source_host", "destination_host", "request_id")
# Fields stored in the header line instead of the document.
_HEADER = frozenset({"request", "status", "step", "wake_ms", "version", "created_ms", "updated_ms", "sequence"})
_MIGRATION_HEADER = frozenset({"sequence", "created_ms", "updated_ms"})


def _body(kind: type[Any], others: Collection[str], required: Collection[str] = ()) -> dict[str, Any]:
    """Return {field: default} of a document; MISSING for required fields."""
    return {
        field.name: MISSING if field.name in required else field.default
        for field in fields(kind)
        if field.name not in others
    }


# Fields of documents of this release; other fields come from a newer release. Documents omit fields with default
# values, so a release that lacks such a field can still read the document.
_INSTANCE_FIELDS = _body(InstanceRecord, {"uuid", *_HEADER})
_REQUEST_FIELDS = _body(BuildRequestRecord, {"key"})
# Status is always stored, because it is shown if the document cannot be read.
_MIGRATION_FIELDS = _body(MigrationRecord, _MIGRATION_HEADER, required={"status"})


def dump_request(request: BuildRequestRecord) -> str:
    return _dump(_values(request, _REQUEST_FIELDS))


def load_request(key: str, text: str) -> BuildRequestRecord:
    """Return the request of a document. Raises NewerRecord like load_instance."""
    return BuildRequestRecord(key=key, **_load(text, f"Request {key}", _REQUEST_FIELDS))


def dump_instance(instance: InstanceRecord) -> str:
    values = _values(instance, _INSTANCE_FIELDS)
    if instance.migration is not None:
        values["migration"] = _values(instance.migration, _MIGRATION_FIELDS)
    return _dump(values)


def load_instance(uuid: str, text: str) -> InstanceRecord:
    """Return the instance of a record. Raises NewerRecord for fields or enum values of a newer release."""
    header, _, body = text.partition("\n")
    request, status, step, *numbers = header.split(" ")
    wake_ms, version, created_ms, updated_ms, sequence = map(int, numbers)
    record = f"Instance {uuid}"
    values = _load(body, record, _INSTANCE_FIELDS)
    migration = values.pop("migration", None)
    return InstanceRecord(
        uuid=uuid,
        request=request,
        status=_word(record, "status", InstanceStatus, status),
        step=_word(record, "step", SagaStep, step),
        wake_ms=wake_ms,
        version=version,
        created_ms=created_ms,
        updated_ms=updated_ms,
        sequence=sequence,
        migration=None if migration is None else _make_migration(migration, record),
        **values,
    )


def show_instance(uuid: str, text: str, why: str) -> InstanceRecord:
    """Return an instance with its header's fields only: a newer release wrote its document."""
    request, status, _step, *numbers = text.partition("\n")[0].split(" ")
    created_ms, updated_ms, sequence = map(int, numbers[2:])
    record = InstanceRecord(uuid, request, attempt=UNREADABLE_ATTEMPT, reason=why, sequence=sequence)
    words: Any = {"status": status}
    return replace(record, created_ms=created_ms, updated_ms=updated_ms, **words)


def dump_migration(migration: MigrationRecord) -> str:
    return _dump(_values(migration, _MIGRATION_FIELDS))


def load_migration(uuid: str, text: str) -> MigrationRecord:
    """Return the migration of a record. Raises NewerRecord like load_instance."""
    header, _, body = text.partition("\n")
    sequence, created_ms, updated_ms = map(int, header.split(" "))
    record = f"Migration {uuid}"
    values = _load(body, record, _MIGRATION_FIELDS)
    return _make_migration(values, record, sequence=sequence, created_ms=created_ms, updated_ms=updated_ms)


def show_migration(uuid: str, text: str, why: str) -> MigrationRecord:
    """Return a migration with its readable fields only: a newer release wrote its document."""
    header, _, body = text.partition("\n")
    sequence, created_ms, updated_ms = map(int, header.split(" "))
    stored = json.loads(body)
    words: Any = {name: word for name in SHOWN_WORDS if isinstance(word := stored.get(name), str)}
    values = {"instance": "", "kind": "", **words}
    record = MigrationRecord(uuid, **values, source_attempt=UNREADABLE_ATTEMPT, reason=why, sequence=sequence)
    return replace(record, created_ms=created_ms, updated_ms=updated_ms)


def load_rows(
    rows: Iterable[tuple[str, str]], load: Callable[[str, str], Record], show: Callable[[str, str, str], Record]
) -> tuple[list[Record], list[Record]]:
    """Return the records of (uuid, text) rows, and what ``show`` returns for records of a newer release."""
    records, unreadable = [], []
    for uuid, text in rows:
        try:
            records.append(load(uuid, text))
        except errors.NewerRecord as error:
            unreadable.append(show(uuid, text, error.sentence))
    return records, unreadable


def _values(record: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, default in defaults.items() if (value := getattr(record, name)) != default}


def _make_migration(values: Mapping[str, Any], record: str, **numbers: int) -> MigrationRecord:
    _check_fields(record, values, _MIGRATION_FIELDS)
    kind = _word(record, "kind of migration", MigrationKind, values["kind"])
    status = _word(record, "status of migration", MigrationStatus, values["status"])
    return MigrationRecord(**{**values, "kind": kind, "status": status, **numbers})


def _word(record: str, name: str, words: type[Word], word: str) -> Word:
    try:
        return words(word)
    except ValueError:
        why = f"its {name} is {word!r}; this conductor knows only {', '.join(words)}"
        raise errors.NewerRecord(record=record, why=why) from None


def _check_fields(record: str, values: Mapping[str, Any], known_names: Collection[str]) -> None:
    unknown = sorted(values.keys() - known_names)
    if unknown:
        raise errors.NewerRecord(record=record, why=f"this conductor does not know its {', '.join(unknown)}")


def _dump(values: Mapping[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA, **values}, separators=(",", ":"))


def _load(text: str, record: str, known_names: Collection[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text)
    schema = values.pop("schema", None)
    if schema != SCHEMA:
        raise errors.NewerRecord(record=record, why=f"it has schema {schema}; this conductor supports {SCHEMA}")
    _check_fields(record, values, known_names)
    return values
