# SPDX-License-Identifier: Apache-2.0
"""Columns of Nova's databases that contain JSON; one that does not counts as empty."""

import json
import math
from typing import Any


def read_object(text: str | None) -> dict[str, Any]:
    """Return the object in a column."""
    value = read_value(text)
    return value if isinstance(value, dict) else {}


def read_list(text: str | None) -> list[Any]:
    """Return the list in a column."""
    value = read_value(text)
    return value if isinstance(value, list) else []


def read_value(text: str | None) -> Any:
    """Return what is in a column, None for nothing."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def read_number(value: Any) -> float | None:
    """Return a number that is one, or a text of one, as ``stats`` may have; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return None
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if type(value) is int else None
