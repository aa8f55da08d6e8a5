# SPDX-License-Identifier: Apache-2.0
"""Encoding of a partition's data into columns, and back."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from scheduler_svc.core.records import Claim
from scheduler_svc.store import documents
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.registrations import AppliedReport


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
SERVICE = ColumnCodec(documents.encode, lambda text: documents.decode(text, "service"))

# by column of a table
CONSUMER_CODECS = {
    "claim": CLAIM,
    "deadline_ms": PLAIN,
    "ends": ENDS,
    "ended_ms": PLAIN,
    "unverified": PLAIN,
    "source": PLAIN,
}
PROVIDER_CODECS = {
    "document": PROVIDER,
    "capacity": JSON,
    "used": JSON,
    "changed": PLAIN,
    "eligible": PLAIN,
    "excess": JSON,
    "generation": PLAIN,
    "children": JSON,
}
SERVICE_CODECS = {
    "document": SERVICE,
    "report": REPORT,
    "beat_ms": PLAIN,
    "alive": PLAIN,
    "opened": PLAIN,
    "awaited": PLAIN,
    "clock_offset": JSON,
}
