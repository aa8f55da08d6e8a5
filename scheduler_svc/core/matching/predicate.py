# SPDX-License-Identifier: Apache-2.0
"""The interface of filters."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View


class Sieve(NamedTuple):
    """One test of a filter: a mask that is True for each row that passes, and the reason for rejecting the others."""

    reason: str
    passes: Column


# Yields one Sieve per test, and none for tests that the request does not need.
Sieves = Callable[[View, SchedulingRequest], Iterable[Sieve]]
# The same for filters that examine single hosts; the column is a mask of the rows that passed the previous filters.
PerHostSieves = Callable[[View, SchedulingRequest, Column], Iterable[Sieve]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter by its name in the configuration. ``reads`` lists the host state keys that its ``sieves`` may read.

    ``per_host`` is called instead of ``sieves`` if it is not None.
    """

    name: str
    sieves: Sieves
    reads: Reads = field(default_factory=dict)
    per_host: PerHostSieves | None = None
