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
    """Test of a filter: a mask of the passing rows, and the reason for rejecting the others."""

    reason: str
    passes: Column


# Yields one HostPredicate per test that the request needs.
Predicates = Callable[[View, SchedulingRequest], Iterable[HostPredicate]]
# Predicates of filters that examine hosts one by one. The column masks the rows that passed all previous filters.
PerHostPredicates = Callable[[View, SchedulingRequest, Column], Iterable[HostPredicate]]


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    predicates: Predicates
    reads: Reads = field(default_factory=dict)  #: host state keys that the predicates may read
    per_host: PerHostPredicates | None = None  #: called instead of ``predicates``, if set
    #: How many instances each row takes, if placing an instance changes what the filter reads.
    remaining_instances: Callable[[View, SchedulingRequest], FloatColumn] | None = None
    #: How many live claims, and how many builds, each row may have; the claim script checks it again.
    claim_limit: Callable[[View, SchedulingRequest], FloatColumn] | None = None
    build_limit: Callable[[View, SchedulingRequest], FloatColumn] | None = None
    reasons: Sequence[str] = ()  #: reasons of all predicates; {} stands for a name from the request
    in_every_scope: bool = False  #: whether the filter applies to requests of every FilterScope
