# SPDX-License-Identifier: Apache-2.0
"""How a service declares its metrics; they are summed over the daemon's workers where that makes sense.

Declare them at module level in modules that only workers import: the frame decides where the figures are kept
just before it imports the service. With metrics off they are plain counters in memory. Every name begins with
``gantt_``.
"""

from collections.abc import Sequence
from typing import Literal

import prometheus_client

PREFIX = "gantt_"
# Seconds, from a decision (tens of microseconds) to a call that times out.
TIME_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    10.0,
    60.0,
)

_LIVE: dict[str, Literal["livesum", "livemax", "livemin", "liveall"]] = {
    "sum": "livesum",
    "max": "livemax",
    "min": "livemin",
    "all": "liveall",
}


def counter(name: str, text: str, labels: Sequence[str] = ()) -> prometheus_client.Counter:
    """Declare a count that only grows; it goes on where a dead worker of the same index left it."""
    return prometheus_client.Counter(PREFIX + name, text, labels)


def gauge(
    name: str, text: str, labels: Sequence[str] = (), across: Literal["sum", "max", "min", "all"] = "sum"
) -> prometheus_client.Gauge:
    """Declare a figure that goes up and down; a dead worker's is dropped.

    ``across`` says what is shown of the workers' values: the sum, the largest, the smallest, or all (each
    with its worker's index as label ``pid``).
    """
    return prometheus_client.Gauge(PREFIX + name, text, labels, multiprocess_mode=_LIVE[across])


def histogram(
    name: str, text: str, labels: Sequence[str] = (), buckets: Sequence[float] = TIME_BUCKETS
) -> prometheus_client.Histogram:
    """Declare a distribution; the default buckets are seconds."""
    return prometheus_client.Histogram(PREFIX + name, text, labels, buckets=buckets)
