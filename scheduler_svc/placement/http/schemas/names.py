# SPDX-License-Identifier: Apache-2.0
"""Schemas of traits and resource classes."""

from scheduler_svc.placement.http.schemas.validators import (
    CUSTOM_PATTERN,
    INTEGER,
    MAX_NAME,
    TEXT,
    body,
    fields,
    once,
    query,
)

_TRAIT = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}

CUSTOM_TRAIT = body({**_TRAIT, "pattern": CUSTOM_PATTERN})
TRAITS = body(
    fields(
        {"traits": {"type": "array", "items": _TRAIT}, "resource_provider_generation": INTEGER},
        ["traits", "resource_provider_generation"],
    )
)
LIST_TRAITS = ((0, query({"name": once(TEXT), "associated": once(TEXT)})),)
RESOURCE_CLASS = body(fields({"name": {"type": "string", "pattern": CUSTOM_PATTERN, "maxLength": MAX_NAME}}, ["name"]))
