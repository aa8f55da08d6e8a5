# SPDX-License-Identifier: Apache-2.0
"""What a prefilter is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_svc.reads import Reads
from scheduler_svc.request import Request
from scheduler_svc.table.aggregates import AggregatesSeen

Rewrite = Callable[[Request, AggregatesSeen], Request]


@dataclass(frozen=True, slots=True)
class Prefilter:
    """A rewriting by its name, which is Nova's; it returns the request itself where there is nothing to rewrite.

    It raises NoValidHost, or InvalidSpec, where no host could ever do. ``reads`` is all of host state that it looks at.
    """

    name: str
    rewrite: Rewrite
    reads: Reads = field(default_factory=dict)
