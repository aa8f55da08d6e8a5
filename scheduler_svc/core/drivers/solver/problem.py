# SPDX-License-Identifier: Apache-2.0
"""Integer problem of placing a batch of calls, and its solution."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import FloatColumn, IntColumn


@dataclass(frozen=True, slots=True)
class CallKind:
    """Calls with the same request. A placement is one instance, or all instances of a call that must share a host."""

    amounts: IntColumn  # amounts of a placement, in the problem's order of classes
    hosts: IntColumn  # indexes of the problem's hosts, best first
    max_per_host: IntColumn  # placements that each host takes
    cost: FloatColumn  # score of the best host minus the score of each host
    calls: tuple[int, ...]  # numbers of the calls, in order
    sizes: tuple[int, ...]  # placements of each call
    weight: float = 1.0  # change of a host's score by one placement


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Server group's limit on placements per host. ``kinds`` are numbers of kinds."""

    kinds: tuple[int, ...]
    member_counts: IntColumn  # existing members per host
    max_members: int | None = None  # None for soft policies
    # Soft policies: anti-affinity penalizes members beyond a host's first, affinity penalizes hosts without members.
    anti_affinity: bool = True


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """Kinds of calls to place. ``free`` and ``capacity`` have shape (hosts, resource classes)."""

    free: npt.NDArray[np.int64]
    capacity: npt.NDArray[np.int64]
    kinds: tuple[CallKind, ...]
    rules: tuple[GroupRule, ...] = ()

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        empty: npt.NDArray[np.bool_] = (self.free == self.capacity).all(axis=1)
        return empty

    @property
    def columns(self) -> int:
        """Number of (kind, host) pairs, which determines the solving time."""
        return sum(len(kind.hosts) for kind in self.kinds)

    @property
    def calls(self) -> int:
        return sum(len(kind.calls) for kind in self.kinds)


@dataclass(frozen=True, slots=True)
class PlacementSolution:
    """Placements per kind and host, and the served calls. ``optimal`` means that no solution serves more calls."""

    placements: tuple[IntColumn, ...]
    served_calls: tuple[tuple[bool, ...], ...]
    optimal: bool = False

    @property
    def calls(self) -> int:
        return sum(sum(kind_calls) for kind_calls in self.served_calls)


def is_feasible(problem: PlacementProblem, solution: PlacementSolution) -> bool:
    """Return whether a solution respects capacity, host limits and rules, and serves calls fully or not at all."""
    used = np.zeros_like(problem.free)
    for kind, placements, served_calls in zip(problem.kinds, solution.placements, solution.served_calls, strict=True):
        required = sum(size for size, is_served in zip(kind.sizes, served_calls, strict=True) if is_served)
        if (placements < 0).any() or (placements > kind.max_per_host).any() or placements.sum() != required:
            return False
        used[kind.hosts] += placements[:, None] * kind.amounts
    return not (used > problem.free).any() and all(_satisfies_rule(problem, solution, rule) for rule in problem.rules)


def count_members(problem: PlacementProblem, solution: PlacementSolution, rule: GroupRule) -> IntColumn:
    counts = np.zeros(len(problem.free), np.int64)
    for number in rule.kinds:
        counts[problem.kinds[number].hosts] += solution.placements[number]
    return counts


def _satisfies_rule(problem: PlacementProblem, solution: PlacementSolution, rule: GroupRule) -> bool:
    new = count_members(problem, solution, rule)
    return rule.max_members is None or not ((new > 0) & (rule.member_counts + new > rule.max_members)).any()
