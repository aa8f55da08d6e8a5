# SPDX-License-Identifier: Apache-2.0
"""The driver that places a batch together; a request by itself is decided as by the driver 'filter'."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from oslo_config import cfg

from scheduler_svc.conf import solver as options
from scheduler_svc.drivers.driver import Batch, Driver, Pending, Ranking, Wanted
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.drivers.solver import alike, answers, survey
from scheduler_svc.drivers.solver.solve import solve
from scheduler_svc.drivers.solver.survey import Survey
from scheduler_svc.request import Request
from scheduler_svc.table.view import View
from scheduler_svc.weighers import cpu, disk, ram
from scheduler_svc.weighers.scoring import Weighted

TOO_LARGE = "the batch is too large"
TIME = "the time is over"
BESIDE = "no room beside the others"
AMOUNTS = (ram.WEIGHER.name, cpu.WEIGHER.name, disk.WEIGHER.name)  # the weighers that spread or pack


@dataclass(frozen=True, slots=True)
class Bounds:
    """How a batch is solved; see the options of [solver]."""

    packs: bool = False
    limit_s: float = 0.2
    hosts: int = 32
    max_pairs: int = 20_000


class SolverDriver(Driver):
    """As many calls of a batch as can be, and these packed or spread."""

    def __init__(self, alone: FilterDriver, bounds: Bounds) -> None:
        """``alone`` decides what is not in a batch, and has the filters and weighers."""
        self._alone = FilterDriver(alone.filters, _turned(alone.weighted, bounds.packs), alone.subset)
        self._bounds = bounds
        self.reads = self._alone.reads
        self.filters, self.weighers = self._alone.filters, self._alone.weighers

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "SolverDriver":
        """Build with the options of [solver] and those of the driver 'filter'; raises BadConfiguration."""
        options.check(conf)
        group = conf.solver
        bounds = Bounds(group.objective == options.PACK, group.time_limit / 1000, group.hosts, group.max_pairs)
        return cls(FilterDriver.from_conf(conf), bounds)

    def rank(self, view: View, request: Request, count: int, seed: int) -> Ranking:
        """Rank as the driver 'filter', with the objective's sign: alike instances need no solving."""
        return self._alone.rank(view, request, count, seed)

    def batches(self, request: Request) -> bool:
        """Tell whether it takes amounts of whole hosts: which parts of a host are taken is searched for, not solved."""
        return alike.is_whole(request)

    def rank_batch(self, view: View, wanted: Sequence[Wanted]) -> Pending:
        """Look at the hosts of each kind of call now; solve when called."""
        kinds, one_by_one = alike.sort(wanted)
        seen = survey.look(view, kinds, self._alone.filters, self._alone.weighted, self._bounds.hosts)
        if seen.scattered:
            one_by_one[survey.SCATTERED] += seen.scattered
        if seen.problem.columns > self._bounds.max_pairs:
            one_by_one[TOO_LARGE] += seen.problem.calls
            seen = Survey(survey.NOTHING, (), (), seen.refused)
        return lambda: self._ranked(seen, wanted, one_by_one)

    def _ranked(self, seen: Survey, wanted: Sequence[Wanted], one_by_one: Counter[str]) -> Batch:
        problem = seen.problem
        found: dict[int, Ranking] = dict(seen.refused)
        if problem.calls:
            bounds = self._bounds
            solved = solve(problem, packs=bounds.packs, limit_s=bounds.limit_s, seed=wanted[0].seed)
            told = {
                "calls": problem.calls,
                "served": solved.solution.calls,
                "served_one_by_one": solved.one_by_one,
                "is_most": solved.solution.optimal,
                "objective": options.PACK if bounds.packs else options.SPREAD,
                "ms": round(1000 * solved.seconds, 1),
            }
            found |= answers.rankings(seen, solved.solution, wanted, told)
            one_by_one[BESIDE] += problem.calls - solved.solution.calls
            one_by_one[TIME] += solved.solution.calls if solved.is_late else 0
        return Batch([found.get(number) for number in range(len(wanted))], +one_by_one)


def _turned(weighted: Weighted, packs: bool) -> Weighted:
    """Return the weighers with the objective's sign on what tells how full a host is."""
    sign = -1.0 if packs else 1.0
    return Weighted(
        tuple((weigher, sign * abs(given) if weigher.name in AMOUNTS else given) for weigher, given in weighted)
    )
