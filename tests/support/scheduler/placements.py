# SPDX-License-Identifier: Apache-2.0
"""Helpers of solver tests: small placement problems."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.drivers.solver.mip import Budget
from scheduler_svc.core.drivers.solver.problem import CallKind, GroupRule, PlacementProblem, PlacementSolution

AMPLE_WORK, AMPLE_S = 1 << 40, 20.0  # far more than such small problems need: all are solved to optimality


def ample_budget(seconds: float = AMPLE_S) -> Budget:
    """Return a budget that is only limited by ``seconds``."""
    return Budget(AMPLE_WORK, seconds)


def kind(
    amounts: Sequence[int],
    max_per_host: Sequence[int],
    *,
    calls: Sequence[int] = (0,),
    sizes: Sequence[int] | None = None,
    cost: Sequence[float] | None = None,
    hosts: Sequence[int] | None = None,
    weight: float = 1.0,
) -> CallKind:
    """Return a kind of calls; by default one instance each, on all hosts in order, which are equally good."""
    return CallKind(
        np.array(amounts, np.int64),
        np.array(range(len(max_per_host)) if hosts is None else hosts, np.int64),
        np.array(max_per_host, np.int64),
        np.array([0.0] * len(max_per_host) if cost is None else cost),
        tuple(calls),
        tuple([1] * len(calls) if sizes is None else sizes),
        weight,
    )


def problem(
    free: Sequence[Sequence[int]],
    *kinds: CallKind,
    rules: Sequence[GroupRule] = (),
    capacity: Sequence[Sequence[int]] | None = None,
) -> PlacementProblem:
    """Return a problem; by default all hosts are empty."""
    return PlacementProblem(
        np.array(free, np.int64), np.array(free if capacity is None else capacity, np.int64), kinds, tuple(rules)
    )


def solution(
    placements: Sequence[Sequence[int]], served: Sequence[Sequence[bool]], optimal: bool = False
) -> PlacementSolution:
    """Return a solution."""
    return PlacementSolution(
        tuple(np.array(kind_placements, np.int64) for kind_placements in placements),
        tuple(tuple(kind_calls) for kind_calls in served),
        optimal,
    )


def rule(
    kinds: Sequence[int], member_counts: Sequence[int], max_members: int | None = None, anti_affinity: bool = True
) -> GroupRule:
    """Return the rule of a server group."""
    return GroupRule(tuple(kinds), np.array(member_counts, np.int64), max_members, anti_affinity)
