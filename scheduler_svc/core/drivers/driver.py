# SPDX-License-Identifier: Apache-2.0
"""Driver interface."""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scheduler_svc.core.filtering.survey import HostSurvey, survey_filters
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.records import Allocations
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

MAX_CANDIDATES = 16  # Limit per instance, also of the claim script.
MAX_CANDIDATES_LARGE = 8  # per instance of a large request, which uses many hosts anyway
LARGE_REQUEST = 16  # requests with more instances are large


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidate hosts of each instance, best first. Empty if some instance cannot be served."""

    candidates: Sequence[Sequence[str]]
    hosts: int  #: number of hosts considered
    reasons: Mapping[str, int]  #: number of rejected hosts by reason
    #: Leading hosts for the decision record: name, score, and weight by weigher.
    best: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    #: Number of leading candidates that are about equally good: they score at least as well as the best candidate with
    #: one more instance.
    near: int = 1
    #: Allocations per instance and candidate; absent where the root provider serves all resources of the request.
    allocations: Sequence[Mapping[str, Allocations]] = ()
    batch: Mapping[str, Any] | None = None  #: batch part of the decision record; None outside a batch
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)  #: some hosts whose trees do not fit, by reason
    nears: Sequence[int] = ()  #: ``near`` of each instance, if several calls share the ranking


@dataclass(frozen=True, slots=True)
class RankRequest:
    request: SchedulingRequest
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class BatchRanking:
    """Rankings of a batch's calls (None: decide alone), and by reason how many calls it did not optimize."""

    rankings: Sequence[Ranking | None]
    unbatched: Mapping[str, int] = field(default_factory=dict)


PendingRanking = Callable[[], BatchRanking]


def max_candidates(count: int) -> int:
    return MAX_CANDIDATES if count <= LARGE_REQUEST else MAX_CANDIDATES_LARGE


class Driver(abc.ABC):
    """Ranks hosts without I/O, clock, or randomness other than the seed.

    The view has only the host state in ``reads``. An external driver is a class in entry point group gantt.drivers with
    class method ``from_conf(conf)``, which may raise BadConfiguration.
    """

    reads: Reads = MappingProxyType({"compute": frozenset({"availability_zone", "traits"})})
    filters: Sequence[Filter] = ()  # Applied in this order.
    weighers: Sequence[Weigher] = ()

    @abc.abstractmethod
    def rank(self, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
        """Rank up to ``max_candidates(count)`` hosts for each of ``count`` identical instances."""

    def survey(self, view: View, request: SchedulingRequest) -> HostSurvey:
        """Return the verdict on every host; slower than ``rank``. Judges trees only by their columns."""
        return survey_filters(self.filters, view, request)

    def rank_batch(self, view: View, requests: Sequence[RankRequest]) -> PendingRanking:
        """Return a function that ranks hosts read now: without the view, once, perhaps slowly in another thread."""
        return lambda: BatchRanking([None] * len(requests))

    def batches(self, request: SchedulingRequest) -> bool:
        """Return whether ``rank_batch`` may rank the request together with others."""
        return False
