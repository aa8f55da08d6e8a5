# SPDX-License-Identifier: Apache-2.0
"""How what a partition holds is written into columns, and read again."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from scheduler_svc.store import documents
from scheduler_svc.store.records import SCHEMA, Claim
from scheduler_svc.store.reports import Applied


@dataclass(frozen=True, slots=True)
class Codec:
    """A way into a column and back."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def _encode_claim(claim: Claim) -> str:
    group = documents.encode_group(claim.group) if claim.group else None
    raw = {**asdict(claim), "schema": SCHEMA, "alternates": " ".join(claim.alternates), "group": group}
    return documents.encode({name: value for name, value in raw.items() if value is not None})


def _encode_report(applied: Applied) -> str:
    return documents.encode({**asdict(applied), "schema": SCHEMA})


def _decode_report(text: str) -> Applied:
    raw = documents.decode(text, "report")
    return Applied(raw["incarnation"], raw["sequence"], tuple(raw["nodes"]))


def _encode_pin(pin: tuple[str, int]) -> str:
    return documents.encode(list(pin))


PLAIN = Codec(lambda value: value, lambda raw: raw)
JSON = Codec(documents.encode, json.loads)
ENDS = Codec(
    lambda ends: documents.encode({str(attempt): str(end) for attempt, end in ends.items()}),
    lambda text: {int(attempt): end for attempt, end in json.loads(text).items()},
)
CLAIM = Codec(_encode_claim, documents.decode_claim)
REPORT = Codec(_encode_report, _decode_report)
PIN = Codec(_encode_pin, lambda text: tuple(json.loads(text)))
PROVIDER = Codec(documents.encode, lambda text: documents.decode(text, "provider"))
SERVICE = Codec(documents.encode, lambda text: documents.decode(text, "service"))
