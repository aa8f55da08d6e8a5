# SPDX-License-Identifier: Apache-2.0
"""What a driver is."""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.filters import samples
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.reads import Reads
from scheduler_svc.request import Request
from scheduler_svc.store.records import Allocations
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher

WIDTH = 16  # candidates an instance: what one claim script looks at
NARROW = 8  # candidates an instance in large requests, whose instances start on many hosts as it is
LARGE = 16  # instances beyond which a request is large


@dataclass(frozen=True, slots=True)
class Ranking:
    """For each instance the hosts to try, best first; no list at all where not every instance can be served.

    ``hosts`` is how many were looked at, ``reasons`` how many of them fell to what, ``best`` the leading hosts as
    the decision's record shows them: name, score, and what each weigher added. ``near`` is how many leading candidates
    of an instance are about equally good: one more instance there would make the best worse than they are. ``batch``
    is what the decision's record tells of the batch that the request was ranked in, where it was ranked in one.
    ``allocations`` tells for each instance what it is to be given by candidates where that is not the request's
    resources, all of the host itself, and ``samples`` names some of the hosts that fell because their trees give
    nothing, by reason; a driver need not tell either (see scheduler_svc.candidates.ranking).
    """

    candidates: Sequence[Sequence[str]]
    hosts: int
    reasons: Mapping[str, int]
    best: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    near: int = 1
    allocations: Sequence[Mapping[str, Allocations]] = ()
    batch: Mapping[str, Any] | None = None
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one call wants: so many alike instances."""

    request: Request
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What ranking many calls came to: a ranking for each, None where it is better decided by itself.

    ``one_by_one`` counts by reason the calls that are, or were, not placed together with others.
    """

    rankings: Sequence[Ranking | None]
    one_by_one: Mapping[str, int] = field(default_factory=dict)


Pending = Callable[[], Batch]


def width(count: int) -> int:
    """Return how many candidates each of ``count`` instances is given."""
    return WIDTH if count <= LARGE else NARROW


class Driver(abc.ABC):
    """Ranks hosts: no I/O, no clock, and no chance but what the seed gives.

    ``reads`` is all of host state that ``rank`` may look at: the view has no more.
    """

    reads: Reads = MappingProxyType({"compute": frozenset({"availability_zone", "traits"})})
    filters: Sequence[Filter] = ()  # that hosts must pass, in their order
    weighers: Sequence[Weigher] = ()

    @classmethod
    @abc.abstractmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "Driver":
        """Build with the options of ``conf``; raises BadConfiguration."""

    @abc.abstractmethod
    def rank(self, view: View, request: Request, count: int, seed: int) -> Ranking:
        """Rank hosts for ``count`` alike instances: up to ``width(count)`` candidates each, as names."""

    def fallen(self, view: View, request: Request) -> Mapping[str, Sequence[str]]:
        """Return some of the hosts that fall to each reason; it costs more than to rank."""
        return samples.take(self.filters, view, request)

    def rank_batch(self, view: View, wanted: Sequence[Wanted]) -> Pending:
        """Look at the hosts for many calls now, and return what ranks them, which needs the view no more.

        It may take long, and may be called from another thread, once. Here each is left to be decided by itself, when
        it is known what the one before was given.
        """
        return lambda: Batch([None] * len(wanted))

    def batches(self, request: Request) -> bool:
        """Tell whether ``rank_batch`` may rank such a request together with others."""
        return False

    def check(self, request: Request) -> None:
        """Raise UnknownDriver where the request names a driver that it cannot have."""
        if request.driver is not None:
            raise errors.UnknownDriver(name=request.driver, known="none, the configured one alone")

    def name_for(self, request: Request) -> str:
        """Return the name of the driver that ranks this request, for its record."""
        return type(self).__name__
