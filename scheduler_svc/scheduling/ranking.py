# SPDX-License-Identifier: Apache-2.0
"""Policy of decisions, and ranking of a view's hosts under a policy."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import Driver, Ranking
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.reads import Reads, union
from scheduler_svc.core.records import Allocations, ClaimLimits
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import rank
from scheduler_svc.scheduling import failing_hosts


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    driver: Driver  # First of ``drivers``, for requests that name none.
    eligibility: Sequence[Filter] = ()  # filters for candidates that a caller names
    prefilters: Sequence[Prefilter] = ()
    drivers: Mapping[str, Driver] = field(default_factory=dict)
    reads: Reads = field(init=False)  # host state keys that any of these rules reads

    def __post_init__(self) -> None:
        parts = (self.eligibility, self.prefilters, self.drivers.values())
        reads = [plugin.reads for plugins in parts for plugin in plugins]
        object.__setattr__(self, "reads", union([self.driver.reads, *reads]))

    def driver_for(self, request: SchedulingRequest) -> Driver:
        """Return the request's driver. Raises UnknownDriver."""
        if request.driver is None:
            return self.driver
        if request.driver not in self.drivers:
            allowed = ", ".join(self.drivers) or "only the configured driver"
            raise errors.UnknownDriver(name=request.driver, choices=allowed)
        return self.drivers[request.driver]

    def driver_name(self, request: SchedulingRequest) -> str:
        return request.driver or next(iter(self.drivers), type(self.driver).__name__)


class CurrentPolicy:
    """Policy in force. A reload replaces it as a whole, so each call reads it only once, at its start."""

    def __init__(self, policy: SchedulingPolicy) -> None:
        self.policy = policy


class PlannedClaim(NamedTuple):
    """Expected claim of another call in the round."""

    host: str
    allocations: Allocations


class SharedRanking(NamedTuple):
    """Call's share in a joint ranking: index of its first instance, and total number of instances."""

    first: int
    instances: int


@dataclass(frozen=True, slots=True)
class RankingSnapshot:
    """Ranking, with each partition's log position at the time of the ranking."""

    ranking: Ranking
    seed: int
    log_positions: Sequence[LogPosition]
    homes: Mapping[str, int]  # candidate -> number of its partition
    # Log positions of candidates' sums, where this worker's claims made the sums newer than the log.
    claimed_positions: Mapping[str, int]
    # Hosts of the request's affinity group; None if the ranking did not know the members.
    group_hosts: Sequence[str] | None = None
    # Some rejected hosts by reason, if no host passed or the call asks for samples.
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shared: SharedRanking | None = None  # set if the ranking was made for several calls
    claim_limits: Mapping[str, ClaimLimits] = field(default_factory=dict)  # of candidates, see pipeline.claim_limits
    planned: Sequence[PlannedClaim] = ()  # claims of other calls in the round, counted as if already made


def rank_hosts(
    policy: SchedulingPolicy,
    view: View,
    request: SchedulingRequest,
    count: int,
    seed: int,
    *,
    explains: bool = False,
) -> RankingSnapshot:
    began = time.perf_counter()
    driver = policy.driver_for(request)
    ranking = failing_hosts.decide(view, lambda view: rank(driver, view, request, count, seed))
    metrics.DECISION_SECONDS.observe(time.perf_counter() - began)
    homes = view.partition_numbers({name for names in ranking.candidates for name in names})
    samples: Mapping[str, Sequence[str]] = {}
    if explains or not ranking.candidates:  # host names are expensive to collect
        survey = failing_hosts.decide(view, lambda view: driver.survey(view, request))
        samples = {**survey.samples(view), **ranking.samples}
    positions = _claimed_positions(view, ranking, homes)
    limits = pipeline.claim_limits(driver.filters, view, request, homes)
    return RankingSnapshot(ranking, seed, view.log_positions, homes, positions, samples=samples, claim_limits=limits)


def _claimed_positions(view: View, ranking: Ranking, homes: Mapping[str, int]) -> dict[str, int]:
    """Return {candidate: position of its oldest sums}, if newer than its partition's position."""
    providers_by_host = {name: {name} for name in homes}
    for host_allocations in ranking.allocations:
        for name, allocations in host_allocations.items():
            providers_by_host[name] |= allocations.keys()
    since = {
        name: min(view.usage_position(provider, homes[name]) for provider in providers)
        for name, providers in providers_by_host.items()
    }
    return {name: position for name, position in since.items() if position}
