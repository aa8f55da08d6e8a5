# SPDX-License-Identifier: Apache-2.0
"""Filter interface."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn
from scheduler_svc.core.table.view import View


class HostPredicate(NamedTuple):
    """One test of a filter: a mask of the rows that pass, and the reason for rejecting the others."""

    reason: str
    passes: Column


# Yields one HostPredicate per test that the request needs.
Predicates = Callable[[View, SchedulingRequest], Iterable[HostPredicate]]
# The same for filters that examine one host at a time; the column masks the rows that passed all previous filters.
PerHostPredicates = Callable[[View, SchedulingRequest, Column], Iterable[HostPredicate]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter by its configured name."""

    name: str
    predicates: Predicates
    reads: Reads = field(default_factory=dict)  #: host state keys that the predicates may read
    per_host: PerHostPredicates | None = None  #: called instead of ``predicates`` if set
    #: Instances that each row takes, if one changes what the filter reads.
    remaining_instances: Callable[[View, SchedulingRequest], FloatColumn] | None = None
    #: Live claims that each row may have, which the claim script checks again.
    claim_limit: Callable[[View, SchedulingRequest], FloatColumn] | None = None
    reasons: Sequence[str] = ()  #: reasons of the predicates; {} stands for a name from the request
    in_every_scope: bool = False  #: whether it applies to requests of any FilterScope
