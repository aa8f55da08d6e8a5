# SPDX-License-Identifier: Apache-2.0
"""Schemas of resource providers and their aggregates."""

from scheduler_svc.placement.http.schemas.validators import (
    INTEGER,
    TEXT,
    UUID,
    body,
    fields,
    once,
    query,
    repeatable,
)

_NAME = {"name": {"type": "string", "maxLength": 200}}
_PARENT = {"parent_provider_uuid": {"anyOf": [UUID, {"type": "null"}]}}

CREATE = body(fields({**_NAME, "uuid": UUID}, ["name"]))
CREATE_1_14 = body(fields({**_NAME, "uuid": UUID, **_PARENT}, ["name"]))
UPDATE = body(fields(_NAME, ["name"]))
UPDATE_1_14 = body(fields({**_NAME, **_PARENT}, ["name"]))

_FILTERS = {"name": once(TEXT), "uuid": once(UUID)}
_FILTERS_1_3 = {**_FILTERS, "member_of": repeatable(TEXT)}
_FILTERS_1_4 = {**_FILTERS_1_3, "resources": once(TEXT)}
_FILTERS_1_14 = {**_FILTERS_1_4, "in_tree": once(UUID)}
_FILTERS_1_18 = {**_FILTERS_1_14, "required": repeatable(TEXT)}

# (first minor microversion, parameters), latest first
LIST = (
    (18, query(_FILTERS_1_18)),
    (14, query(_FILTERS_1_14)),
    (4, query(_FILTERS_1_4)),
    (3, query(_FILTERS_1_3)),
    (0, query(_FILTERS)),
)

_AGGREGATES = {"type": "array", "items": UUID, "uniqueItems": True}

AGGREGATES = body(_AGGREGATES)
AGGREGATES_1_19 = body(
    fields(
        {"aggregates": _AGGREGATES, "resource_provider_generation": INTEGER},
        ["aggregates", "resource_provider_generation"],
    )
)
