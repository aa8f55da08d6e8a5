# SPDX-License-Identifier: Apache-2.0
"""Encoding of a partition's data into columns, and back."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Column, Table

from scheduler_svc.core.records import Claim
from scheduler_svc.store import documents
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.registrations import AppliedReport
from scheduler_svc.store.sql.tables import (
    CONSUMERS,
    GROUPS,
    HOLDERS,
    PINS,
    PROVIDER_NAMES,
    PROVIDERS,
    SERVICES,
    STATES,
    TALLIES,
)


@dataclass(frozen=True, slots=True)
class ColumnCodec:
    """Encoding and decoding functions of a column."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def _encode_claim(claim: Claim) -> str:
    group = documents.encode_group(claim.group) if claim.group else None
    raw = {**asdict(claim), "schema": SCHEMA, "alternates": " ".join(claim.alternates), "group": group}
    return documents.encode_in_order({name: value for name, value in raw.items() if value is not None})


def _encode_report(applied: AppliedReport) -> str:
    return documents.encode({**asdict(applied), "schema": SCHEMA})


def _decode_report(text: str) -> AppliedReport:
    raw = documents.decode(text, "report")
    return AppliedReport(raw["incarnation"], raw["sequence"], tuple(raw["nodes"]), raw["agent"], raw["returned_ms"])


def _encode_pin(pin: tuple[str, int]) -> str:
    return documents.encode(list(pin))


def _encode_state(versioned: Versioned) -> str:
    version, document = versioned
    return documents.encode({"schema": SCHEMA, "version": version, "state": document})


PLAIN = ColumnCodec(lambda value: value, lambda raw: raw)
JSON = ColumnCodec(documents.encode, json.loads)
ENDS = ColumnCodec(
    lambda ends: documents.encode({str(attempt): str(end) for attempt, end in ends.items()}),
    lambda text: {int(attempt): end for attempt, end in json.loads(text).items()},
)
CLAIM = ColumnCodec(_encode_claim, documents.decode_claim)
REPORT = ColumnCodec(_encode_report, _decode_report)
PIN = ColumnCodec(_encode_pin, lambda text: tuple(json.loads(text)))
PROVIDER = ColumnCodec(documents.encode, lambda text: documents.decode(text, "provider"))
STATE = ColumnCodec(_encode_state, documents.decode_state)
SERVICE = ColumnCodec(documents.encode, lambda text: documents.decode(text, "service"))

# The mappings of PartitionStorage, each with its column and the codec of that; ``awaited`` has the awaited hosts.
VIEWS: dict[str, tuple[Column[Any], ColumnCodec]] = {
    "claims": (CONSUMERS.c.claim, CLAIM),
    "deadlines": (CONSUMERS.c.deadline_ms, PLAIN),
    "ended": (CONSUMERS.c.ends, ENDS),
    "ended_at": (CONSUMERS.c.ended_ms, PLAIN),
    "unverified": (CONSUMERS.c.unverified, PLAIN),
    "sources": (CONSUMERS.c.source, PLAIN),
    "holders": (HOLDERS.c.present, PLAIN),
    "tallies": (TALLIES.c.tally, JSON),
    "groups": (GROUPS.c.hosts, JSON),
    "providers": (PROVIDERS.c.document, PROVIDER),
    "capacity": (PROVIDERS.c.capacity, JSON),
    "used": (PROVIDERS.c.used, JSON),
    "changed": (PROVIDERS.c.changed, PLAIN),
    "eligible": (PROVIDERS.c.eligible, PLAIN),
    "excess": (PROVIDERS.c.excess, JSON),
    "generations": (PROVIDERS.c.generation, PLAIN),
    "children": (PROVIDERS.c.children, JSON),
    "provider_names": (PROVIDER_NAMES.c.provider, PLAIN),
    "services": (SERVICES.c.document, SERVICE),
    "reports": (SERVICES.c.report, REPORT),
    "beats": (SERVICES.c.beat_ms, PLAIN),
    "alive": (SERVICES.c.alive, PLAIN),
    "opened": (SERVICES.c.opened, PLAIN),
    "awaited": (SERVICES.c.awaited, PLAIN),
    "clock_offsets": (SERVICES.c.clock_offset, JSON),
    "pins": (PINS.c.pinned, PIN),
    "states": (STATES.c.document, STATE),
}
# Tables of rows by name, the first ones in the order of the arguments of PartitionStorage.prefetch; codecs by column.
CODECS: dict[Table, dict[str, ColumnCodec]] = {
    table: {str(column.key): codec for column, codec in VIEWS.values() if column.table is table}
    for table in (CONSUMERS, PROVIDERS, SERVICES, GROUPS, PROVIDER_NAMES, HOLDERS, TALLIES, PINS, STATES)
}
