# SPDX-License-Identifier: Apache-2.0
"""The driver interface: ranks hosts for requests."""

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

MAX_CANDIDATES = 16  # candidates per instance that one claim script takes
MAX_CANDIDATES_LARGE = 8  # candidates per instance of large requests, whose instances are spread over many hosts anyway
LARGE_REQUEST = 16  # instances; a request with more is large


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidate hosts of each instance, best first; empty if not every instance can be served.

    ``hosts`` is the number of hosts that were considered, ``reasons`` the number rejected for each reason, ``best`` the
    leading hosts for the decision record: name, score, and the weight of each weigher. ``near`` is the number of
    leading candidates that are about equally good: one more instance would make the best worse than they are.
    ``batch`` is the part of the decision record about the batch, if the request was ranked in one. ``allocations`` has
    for each instance the allocations by candidate, where they differ from the request's resources on the root provider;
    ``samples`` names some of the hosts whose trees do not fit, by reason. A driver may leave out both (see
    scheduler_svc.core.trees.ranking). ``nears`` is ``near`` of each instance, for a ranking that several calls share.
    """

    candidates: Sequence[Sequence[str]]
    hosts: int
    reasons: Mapping[str, int]
    best: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    near: int = 1
    allocations: Sequence[Mapping[str, Allocations]] = ()
    batch: Mapping[str, Any] | None = None
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    nears: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class RankRequest:
    """One call to rank: ``count`` identical instances."""

    request: SchedulingRequest
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class BatchRanking:
    """The rankings of a batch of calls; None for a call that should be decided on its own.

    ``unbatched`` counts by reason the calls that are not, or were not, placed together with others.
    """

    rankings: Sequence[Ranking | None]
    unbatched: Mapping[str, int] = field(default_factory=dict)


PendingRanking = Callable[[], BatchRanking]


def max_candidates(count: int) -> int:
    """Return the number of candidates for each of ``count`` instances."""
    return MAX_CANDIDATES if count <= LARGE_REQUEST else MAX_CANDIDATES_LARGE


class Driver(abc.ABC):
    """Ranks hosts: no I/O, no clock, and no randomness but from the seed.

    ``reads`` lists the host state that ``rank`` may read: the view has no other. A driver from outside is a class in
    the entry point group gantt.drivers with a class method ``from_conf(conf)``, which may raise BadConfiguration.
    """

    reads: Reads = MappingProxyType({"compute": frozenset({"availability_zone", "traits"})})
    filters: Sequence[Filter] = ()  # in the order in which they run
    weighers: Sequence[Weigher] = ()

    @abc.abstractmethod
    def rank(self, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
        """Rank hosts for ``count`` identical instances: up to ``max_candidates(count)`` host names each."""

    def survey(self, view: View, request: SchedulingRequest) -> HostSurvey:
        """Return what is said about each host; this costs more than ``rank``. Of trees only the columns are judged."""
        return survey_filters(self.filters, view, request)

    def rank_batch(self, view: View, requests: Sequence[RankRequest]) -> PendingRanking:
        """Read the hosts for many calls now, and return a function that ranks them without the view.

        The function may take long, and may be called once, from another thread. By default each call is left to be
        decided on its own, after the calls before it.
        """
        return lambda: BatchRanking([None] * len(requests))

    def batches(self, request: SchedulingRequest) -> bool:
        """Return whether ``rank_batch`` may rank such a request together with others."""
        return False
