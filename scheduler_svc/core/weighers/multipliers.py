# SPDX-License-Identifier: Apache-2.0
"""Weigher multipliers: configured, and overridden by aggregate metadata.

As in Nova (get_weight_multiplier), metadata named like the multiplier applies to the aggregate's hosts, and the
smallest value wins. A host with an invalid value in one of its aggregates keeps the configured number.
"""

import math


def parse_multiplier(text: str) -> float | None:
    """Return the multiplier, or None for anything but a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
