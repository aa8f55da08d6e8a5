# SPDX-License-Identifier: Apache-2.0
"""Weigher multipliers: the configured number, overridden by aggregate metadata.

As in Nova (get_weight_multiplier): metadata with the name of the multiplier applies to the aggregate's hosts, the
smallest value if there are several. A host keeps the configured number if one of its aggregates has an invalid value.
"""

import math
from collections.abc import Iterable, Mapping


def find_errors(metadata: Mapping[str, Mapping[str, str]], options: Iterable[str]) -> list[str]:
    """Return an error text for each multiplier in these aggregates' metadata that is not a finite number."""
    return [
        f"Aggregate {name}: {option} = {values[option][:40]!r} is not a finite number; using the configured multiplier"
        for name, values in sorted(metadata.items())
        for option in options
        if option in values and parse_multiplier(values[option]) is None
    ]


def parse_multiplier(text: str) -> float | None:
    """Return the multiplier, or None if the text is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
