# SPDX-License-Identifier: Apache-2.0
"""Serialization of records.

An instance is stored as a header line of eight words, which the scripts read and write without decoding JSON, and a
JSON document: ``request status step wake_ms version created_ms updated_ms sequence``.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

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
    return _dump({name: getattr(instance, name) for name in _BODY})


def load_instance(uuid: str, text: str) -> InstanceRecord:
    """Return the instance with this uuid; raises StoreUnavailable for an unknown schema version."""
    header, _, body = text.partition("\n")
    request, status, step, *numbers = header.split(" ")
    wake_ms, version, created_ms, updated_ms, sequence = map(int, numbers)
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
        **_load(body),
    )


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
