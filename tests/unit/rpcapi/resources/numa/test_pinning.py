# SPDX-License-Identifier: Apache-2.0
"""The choice of host CPUs, compared with all possible choices."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.numa import pinning
from rpcapi.resources.numa.pinning import ThreadPolicy

PREFER, REQUIRE, ISOLATE = ThreadPolicy


def on_thread_siblings(free: list[tuple[int, ...]], cpus: tuple[int, ...]) -> bool:
    """Return whether all cores have the same number of CPUs above one, but for the remainder on a last core."""
    shares = [(len(set(core) & set(cpus)), len(core)) for core in free if set(core) & set(cpus)]
    for cpus_per_core in range(2, 9):
        whole, rest = divmod(len(cpus), cpus_per_core)
        counts = sorted(share for share, _ in shares)
        expected = sorted([cpus_per_core] * whole + ([rest] if rest else []))
        if counts == expected and all(free_cpus >= cpus_per_core for _, free_cpus in shares):
            return True
    return False


def possible(free: list[tuple[int, ...]], threads: int, count: int, policy: ThreadPolicy) -> bool:
    if policy is ISOLATE and threads > 1:
        return False
    cpus = [cpu for core in free for cpu in core]
    choices = itertools.combinations(cpus, count)
    if policy is REQUIRE:
        return threads > 1 and any(on_thread_siblings(free, choice) for choice in choices)
    return any(True for _ in choices)


@st.composite
def cells(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], int]:
    threads = draw(st.sampled_from([1, 2, 2, 4]))
    cores = draw(st.integers(1, 8 // threads + 1))
    free = []
    for core in range(cores):
        cpus = range(core * threads, (core + 1) * threads)
        free_cpus = tuple(sorted(draw(st.sets(st.sampled_from(list(cpus))))))
        if free_cpus:
            free.append(free_cpus)
    return free, threads


@settings(max_examples=400, deadline=None)
@given(cells(), st.integers(1, 9), st.sampled_from(ThreadPolicy))
def test_cpus_are_chosen_exactly_when_possible(
    cell: tuple[list[tuple[int, ...]], int], count: int, policy: ThreadPolicy
) -> None:
    free, threads = cell
    result = pinning.choose_cpus(free, threads, count, policy)
    assert isinstance(result, tuple) == possible(free, threads, count, policy)
    if isinstance(result, tuple):
        assert len(set(result)) == len(result) == count
        assert set(result) <= {cpu for core in free for cpu in core}
        if policy is REQUIRE:
            assert on_thread_siblings(free, result)


def test_prefer_uses_threads_of_one_core_where_possible() -> None:
    assert pinning.choose_cpus([(0,), (2, 3), (4, 5)], 2, 2) == (2, 3)
    assert pinning.choose_cpus([(0,), (2,), (4, 5)], 2, 4) == (0, 2, 4, 5)


def test_remainder_uses_a_partially_used_core_first() -> None:
    assert pinning.choose_cpus([(0, 1), (3,), (4, 5)], 2, 1) == (3,)
    assert pinning.choose_cpus([(0, 1), (3,), (4, 5)], 2, 3) == (0, 1, 3)
    # but with REQUIRE the core must have both threads free
    assert pinning.choose_cpus([(0, 1), (3,), (4, 5)], 2, 1, REQUIRE) == (0,)


@pytest.mark.parametrize(
    ("free", "threads", "policy", "why"),
    [
        ([(0, 1)], 2, PREFER, pinning.NOT_ENOUGH),
        ([(0,), (1,), (2,)], 1, REQUIRE, pinning.NO_THREADS),
        ([(0, 1), (2, 3)], 2, ISOLATE, pinning.THREADS),
        ([(0,), (2,), (4,)], 2, REQUIRE, pinning.BROKEN),
    ],
)
def test_refusal_has_the_reason(free: list[tuple[int, ...]], threads: int, policy: ThreadPolicy, why: str) -> None:
    assert pinning.choose_cpus(free, threads, 3, policy) == why
