# SPDX-License-Identifier: Apache-2.0
"""Weigher multipliers: configured numbers, which aggregate metadata may override.

As in Nova (get_weight_multiplier), metadata named like the multiplier applies to the aggregate's hosts, and the
smallest value wins. A host with an invalid value in one of its aggregates keeps the configured multiplier.
"""

import math


def parse_multiplier(text: str) -> float | None:
    """Return the multiplier; None unless the string is a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
