# SPDX-License-Identifier: Apache-2.0
"""Parsers of JSON columns in Nova's databases; invalid JSON counts as empty."""

import json
import math
from typing import Any


def read_object(text: str | None) -> dict[str, Any]:
    value = read_value(text)
    return value if isinstance(value, dict) else {}


def read_list(text: str | None) -> list[Any]:
    value = read_value(text)
    return value if isinstance(value, list) else []


def read_value(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def read_number(value: Any) -> float | None:
    """Parse a number, which ``stats`` may store as text; return None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return None
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if type(value) is int else None
