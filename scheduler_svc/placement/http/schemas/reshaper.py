# SPDX-License-Identifier: Apache-2.0
"""Schemas of reshaper requests."""

from scheduler_svc.placement.http.schemas import allocations, inventories
from scheduler_svc.placement.http.schemas.validators import Schema, Validator, Versioned, body, fields


def _reshape(consumers: Schema) -> Validator:
    providers = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "patternProperties": {allocations.UUID_PATTERN: inventories.ALL},
    }
    parts = {"inventories": providers, "allocations": {**consumers, "minProperties": 0}}
    return body(fields(parts, list(parts)))


RESHAPE: Versioned = tuple((minor, _reshape(consumers)) for minor, consumers in allocations.MANY if minor >= 28)
