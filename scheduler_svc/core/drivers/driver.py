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

MAX_CANDIDATES = 16  # per instance, limited by the claim script
MAX_CANDIDATES_LARGE = 8  # per instance of a large request, which uses many hosts anyway
LARGE_REQUEST = 16  # requests with more instances are large


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidate hosts of each instance, best first; empty if an instance cannot be served."""

    candidates: Sequence[Sequence[str]]
    hosts: int  #: number of considered hosts
    reasons: Mapping[str, int]  #: number of rejected hosts per reason
    #: Leading hosts for the decision record: name, score, and weight per weigher.
    best: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    near: int = 1  #: leading candidates that are about equally good: with one more instance, the best would be worse
    #: Per instance, by candidate, if not the request's resources on the root provider.
    allocations: Sequence[Mapping[str, Allocations]] = ()
    batch: Mapping[str, Any] | None = None  #: batch part of the decision record, if ranked in a batch
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)  #: some hosts whose trees do not fit, by reason
    nears: Sequence[int] = ()  #: ``near`` per instance, in a ranking shared by several calls


@dataclass(frozen=True, slots=True)
class RankRequest:
    """Call to rank: ``count`` identical instances."""

    request: SchedulingRequest
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class BatchRanking:
    """Rankings of a batch; None for a call to decide alone, which ``unbatched`` counts by reason."""

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
    filters: Sequence[Filter] = ()  # in order of application
    weighers: Sequence[Weigher] = ()

    @abc.abstractmethod
    def rank(self, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
        """Rank hosts for ``count`` identical instances: up to ``max_candidates(count)`` names each."""

    def survey(self, view: View, request: SchedulingRequest) -> HostSurvey:
        """Return the verdict on every host; more expensive than ``rank``. Judges trees only by their columns."""
        return survey_filters(self.filters, view, request)

    def rank_batch(self, view: View, requests: Sequence[RankRequest]) -> PendingRanking:
        """Read hosts for many calls; return a function that ranks them without the view.

        The function may be slow, and runs at most once, possibly in another thread. By default each call is decided
        alone.
        """
        return lambda: BatchRanking([None] * len(requests))

    def batches(self, request: SchedulingRequest) -> bool:
        """Return whether ``rank_batch`` may rank the request with others."""
        return False
