# SPDX-License-Identifier: Apache-2.0
"""Schemas of inventories."""

from scheduler_svc.placement.http.schemas.validators import (
    INTEGER,
    MAX_INTEGER,
    MAX_RATIO,
    NAME_PATTERN,
    body,
    fields,
)


def _amount(minimum: int) -> dict[str, object]:
    return {"type": "integer", "maximum": MAX_INTEGER, "minimum": minimum}


_INVENTORY = {
    "resource_provider_generation": INTEGER,
    "total": _amount(1),
    "reserved": _amount(0),
    "min_unit": _amount(1),
    "max_unit": _amount(1),
    "step_size": _amount(1),
    "allocation_ratio": {"type": "number", "maximum": MAX_RATIO},
}

CREATE = body(
    fields({**_INVENTORY, "resource_class": {"type": "string", "pattern": NAME_PATTERN}}, ["total", "resource_class"])
)
UPDATE = body(fields(_INVENTORY, ["total", "resource_provider_generation"]))
ALL = fields(
    {
        "resource_provider_generation": INTEGER,
        "inventories": {"type": "object", "patternProperties": {NAME_PATTERN: fields(_INVENTORY, ["total"])}},
    },
    ["resource_provider_generation", "inventories"],
)
REPLACE = body(ALL)
