# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON of stored documents, with a schema version."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Claim, ClaimGroup
from scheduler_svc.store.records import SCHEMA

# Shared encoder: json.dumps with options would build one per call.
_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def encode(document: Any) -> str:
    """Return canonical JSON, in which equal documents have equal text."""
    return _ENCODER.encode(document)


def encode_in_order(document: Any) -> str:
    """Return JSON with keys in the document's order, because clients see their allocations in that order."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def is_same(first: Any, second: Any) -> bool:
    """Return whether two documents have the same JSON. ``==`` alone does not distinguish 1, 1.0 and True."""
    return first == second and encode(first) == encode(second)


def decode(text: str | bytes, what: str) -> dict[str, Any]:
    """Decode a stored document. Raises IncompatibleObject if its schema version is not SCHEMA."""
    document: dict[str, Any] = json.loads(text)
    if document.get("schema") != SCHEMA:
        raise errors.IncompatibleObject(name=f"stored {what}", version=document.get("schema", "none"), supported=SCHEMA)
    return document


@contextlib.contextmanager
def members_of(what: str) -> Iterator[None]:
    """Turn errors about a stored document's members inside the block into IncompatibleObject."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        version = f"{SCHEMA} with other members ({error})"
        raise errors.IncompatibleObject(name=f"stored {what}", version=version, supported=SCHEMA) from error


def decode_state(text: str | bytes) -> tuple[int, dict[str, Any]]:
    raw = decode(text, "host state")
    with members_of("host state"):
        return raw["version"], raw["state"]


def decode_claim(text: str | bytes) -> Claim:
    """Decode a live claim. Its alternates are stored as space-separated text, because Lua encodes [] as {}."""
    raw = decode(text, "claim")
    del raw["schema"]
    with members_of("claim"):
        raw["alternates"] = tuple(raw["alternates"].split())
        if raw.get("group"):
            raw["group"] = decode_group(raw["group"])
        return Claim(**raw)


def encode_group(group: ClaimGroup) -> dict[str, Any]:
    return {"id": group.id, "policy": group.policy.value, "max_per_host": group.max_per_host}


def decode_group(raw: Mapping[str, Any]) -> ClaimGroup:
    return ClaimGroup(raw["id"], GroupPolicy(raw["policy"]), int(raw["max_per_host"]))
