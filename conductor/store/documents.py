# SPDX-License-Identifier: Apache-2.0
"""Records to and from what is stored.

An instance is stored as a header line of eight words, which the scripts read and write without decoding JSON, and
its document in JSON: ``request status step wake_ms version created_ms updated_ms sequence``.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from conductor.store.records import SCHEMA, Instance, Request, Status, Step
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
)


def dump_request(request: Request) -> str:
    """Return the document of a request; its key is where it is stored."""
    values = asdict(request)
    del values["key"]
    return _dump(values)


def load_request(key: str, text: str) -> Request:
    """Raises StoreUnavailable for a document of an unknown schema."""
    return Request(key=key, **_load(text))


def dump_instance(instance: Instance) -> str:
    """Return the part of an instance's record that is no header; the store itself writes the header."""
    return _dump({name: getattr(instance, name) for name in _BODY})


def load_instance(uuid: str, text: str) -> Instance:
    """Raises StoreUnavailable for a document of an unknown schema."""
    header, _, body = text.partition("\n")
    request, status, step, *numbers = header.split(" ")
    wake_ms, version, created_ms, updated_ms, sequence = map(int, numbers)
    return Instance(
        uuid=uuid,
        request=request,
        status=Status(status),
        step=Step(step),
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
            why=f"it holds a document of schema {schema}, this conductor knows {SCHEMA}: upgrade it"
        )
    return values
