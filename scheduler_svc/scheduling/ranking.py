# SPDX-License-Identifier: Apache-2.0
"""The deciding function: ranks hosts of a view of the table for a request, by a policy."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import Ranking
from scheduler_svc.core.records import Allocations
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import rank
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.policy import SchedulingPolicy


class PlannedClaim(NamedTuple):
    """The expected claim of another call in the round: host, allocations, and whether the host builds an instance."""

    host: str
    allocations: Allocations
    is_build: bool


class SharedRanking(NamedTuple):
    """The part of a call in a ranking for several calls: its first instance, and the instances of all."""

    first: int
    instances: int


@dataclass(frozen=True, slots=True)
class RankingSnapshot:
    """A ranking, and the log position of each partition of the table that it was made on.

    ``homes`` maps each candidate to its partition's number. ``claimed_positions`` has the log positions of candidates'
    sums where these are later than their partition's: a worker knows its own claims before it reads them in the log.
    ``group_hosts`` are those of the request's affinity group, None if the members of its server group were not known.
    ``samples`` names some of the rejected hosts for each reason, if none passed or the call asks for them. ``shared``
    is set where the ranking was made for several calls. ``planned``: claims of other calls in the round, which the
    ranking counted as if they had been made.
    """

    ranking: Ranking
    seed: int
    log_positions: Sequence[LogPosition]
    homes: Mapping[str, int]
    claimed_positions: Mapping[str, int]
    group_hosts: Sequence[str] | None = None
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shared: SharedRanking | None = None
    planned: Sequence[PlannedClaim] = ()


def rank_hosts(
    policy: SchedulingPolicy,
    view: View,
    request: SchedulingRequest,
    count: int,
    seed: int,
    *,
    explains: bool = False,
) -> RankingSnapshot:
    """Rank hosts of all partitions that the request allows, for ``count`` instances."""
    began = time.perf_counter()
    driver = policy.driver_for(request)
    ranking = failing_hosts.decide(view, lambda view: rank(driver, view, request, count, seed))
    metrics.DECISION_SECONDS.observe(time.perf_counter() - began)
    homes = view.partitions.numbers({name for names in ranking.candidates for name in names})
    samples: Mapping[str, Sequence[str]] = {}
    if explains or not ranking.candidates:  # collecting host names is expensive
        survey = failing_hosts.decide(view, lambda view: driver.survey(view, request))
        samples = {**survey.samples(view), **ranking.samples}
    positions = _claimed_positions(view, ranking, homes)
    return RankingSnapshot(ranking, seed, view.partitions.log_positions, homes, positions, samples=samples)


def _claimed_positions(view: View, ranking: Ranking, homes: Mapping[str, int]) -> dict[str, int]:
    """Return the log position of each candidate's sums, where it is later than its partition's.

    With several providers it is the position of the one known least.
    """
    providers_by_host = {name: {name} for name in homes}
    for host_allocations in ranking.allocations:
        for name, allocations in host_allocations.items():
            providers_by_host[name] |= allocations.keys()
    since = {
        name: min(view.partitions.sums_since(provider, homes[name]) for provider in providers)
        for name, providers in providers_by_host.items()
    }
    return {name: position for name, position in since.items() if position}
