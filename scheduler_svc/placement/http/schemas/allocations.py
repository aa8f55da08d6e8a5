# SPDX-License-Identifier: Apache-2.0
"""Schemas of allocations."""

from typing import Any

from scheduler_svc.placement.http.schemas.validators import INTEGER, NAME_PATTERN, UUID, Schema, body, fields

UUID_PATTERN = "^[0-9a-fA-F-]{36}$"

_RESOURCES: Schema = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {NAME_PATTERN: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
_OWNER: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
_LIST: Schema = {
    "type": "array",
    "minItems": 1,
    "items": fields(
        {"resource_provider": fields({"uuid": UUID}, ["uuid"]), "resources": _RESOURCES},
        ["resource_provider", "resources"],
    ),
}
_PROJECT_AND_USER = {"project_id": _OWNER, "user_id": _OWNER}
_PROVIDER = fields({"generation": INTEGER, "resources": _RESOURCES}, ["resources"])
_GENERATION = {"consumer_generation": {"type": ["integer", "null"]}}
_MAPPINGS: Schema = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {"[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID}},
}
_TYPE: Schema = {"type": "string", "pattern": NAME_PATTERN, "minLength": 1, "maxLength": 255}


def _consumer(minimum: int, extra: Schema, required: tuple[str, ...] = ()) -> Schema:
    allocations = {
        "type": "object",
        "minProperties": minimum,
        "patternProperties": {UUID_PATTERN: _PROVIDER},
        "additionalProperties": False,
    }
    return fields(
        {"allocations": allocations, **_PROJECT_AND_USER, **extra}, ["allocations", "project_id", "user_id", *required]
    )


def _consumers(schema: Schema) -> dict[str, Any]:
    return {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "patternProperties": {UUID_PATTERN: schema},
    }


# (first minor microversion, schema), latest first
_MAPPED = {**_GENERATION, "mappings": _MAPPINGS}
_CONSUMER = (
    (38, _consumer(0, {**_MAPPED, "consumer_type": _TYPE}, ("consumer_generation", "consumer_type"))),
    (34, _consumer(0, _MAPPED, ("consumer_generation",))),
    (28, _consumer(0, _GENERATION, ("consumer_generation",))),
)
REPLACE = (
    *((minor, body(schema)) for minor, schema in _CONSUMER),
    (12, body(_consumer(1, {}))),
    (8, body(fields({"allocations": _LIST, **_PROJECT_AND_USER}, ["allocations", "project_id", "user_id"]))),
    (0, body(fields({"allocations": _LIST}, ["allocations"]))),
)
MANY = tuple((minor, _consumers(schema)) for minor, schema in (*_CONSUMER, (13, _consumer(0, {}))))
REPLACE_MANY = tuple((minor, body(schema)) for minor, schema in MANY)
