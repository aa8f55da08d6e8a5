# SPDX-License-Identifier: Apache-2.0
"""Codecs between stored text and the values of PartitionStorage."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from scheduler_svc.core.records import Claim
from scheduler_svc.store import documents, registrations
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.registrations import AppliedReport


@dataclass(frozen=True, slots=True)
class Codec:
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def _encode_claim(claim: Claim) -> str:
    group = documents.encode_group(claim.group) if claim.group else None
    stored = {field.name: getattr(claim, field.name) for field in fields(claim)}
    stored |= {"schema": SCHEMA, "alternates": " ".join(claim.alternates), "group": group}
    return documents.encode_in_order({name: value for name, value in stored.items() if value is not None})


def _encode_report(applied: AppliedReport) -> str:
    members = asdict(applied) | {"schema": SCHEMA}
    members["issued"] = registrations.issued(members.pop("incarnation"))  # two numbers: Lua is exact only to 2^53
    return documents.encode(members)


def _decode_report(text: str) -> AppliedReport:
    raw = documents.decode(text, "report")
    with documents.members_of("report"):
        number = registrations.incarnation(*raw["issued"])
        return AppliedReport(number, raw["sequence"], tuple(raw["nodes"]), raw["agent"], raw.get("returned_ms"))


def _encode_pin(pin: tuple[str, int]) -> str:
    return documents.encode(list(pin))


def _encode_state(versioned: Versioned) -> str:
    version, document = versioned
    return documents.encode({"schema": SCHEMA, "version": version, "state": document})


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
STATE = Codec(_encode_state, documents.decode_state)
SERVICE = Codec(documents.encode, lambda text: documents.decode(text, "service"))
