# SPDX-License-Identifier: Apache-2.0
"""Weigher multipliers: configured, and overridden by aggregate metadata.

As in Nova (get_weight_multiplier), metadata named like the multiplier applies to the aggregate's hosts, and the
smallest value wins. A host with an invalid value in one of its aggregates keeps the configured number.
"""

import math
from collections.abc import Iterable, Mapping


def find_errors(metadata: Mapping[str, Mapping[str, str]], options: Iterable[str]) -> list[str]:
    """Return an error text for each multiplier in aggregate metadata that is no finite number."""
    return [
        f"Aggregate {name}: {option} = {values[option][:40]!r} is not a finite number; using the configured multiplier"
        for name, values in sorted(metadata.items())
        for option in options
        if option in values and parse_multiplier(values[option]) is None
    ]


def parse_multiplier(text: str) -> float | None:
    """Return the multiplier, or None for anything but a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
