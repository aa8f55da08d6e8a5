# SPDX-License-Identifier: Apache-2.0
"""The interface of filters."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn
from scheduler_svc.core.table.view import View


class HostPredicate(NamedTuple):
    """One test of a filter: a mask that is True for each row that passes, and the reason for rejecting the others."""

    reason: str
    passes: Column


# Yields one HostPredicate per test, and none for tests that the request does not need.
Predicates = Callable[[View, SchedulingRequest], Iterable[HostPredicate]]
# The same for filters that examine single hosts; the column is a mask of the rows that passed the previous filters.
PerHostPredicates = Callable[[View, SchedulingRequest, Column], Iterable[HostPredicate]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter by its name in the configuration. ``reads`` lists the host state keys that its ``predicates`` may read.

    ``per_host`` is called instead of ``predicates`` if it is not None. ``room`` returns for each row how many instances
    of the request it takes, where each of them changes what the filter reads. ``reasons`` are those of its predicates:
    {} stands for a name in the request.
    """

    name: str
    predicates: Predicates
    reads: Reads = field(default_factory=dict)
    per_host: PerHostPredicates | None = None
    room: Callable[[View, SchedulingRequest], FloatColumn] | None = None
    reasons: Sequence[str] = ()
