# SPDX-License-Identifier: Apache-2.0
"""Prefilter interface."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView

Rewrite = Callable[[SchedulingRequest, AggregateView], SchedulingRequest]


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Prefilter under its Nova name. ``rewrite`` returns the same object if nothing changes."""

    name: str
    rewrite: Rewrite
    reads: Reads = field(default_factory=dict)  # host state keys that ``rewrite`` reads
