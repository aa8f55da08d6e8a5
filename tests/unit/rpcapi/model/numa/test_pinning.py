# SPDX-License-Identifier: Apache-2.0
"""The choice of host CPUs, against every choice there is."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.model.numa import pinning
from rpcapi.model.numa.pinning import ThreadPolicy

PREFER, REQUIRE, ISOLATE = ThreadPolicy


def beside_each_other(free: list[tuple[int, ...]], taken: tuple[int, ...]) -> bool:
    """Whether some number above one is what each core gives, but for a last one that could."""
    shares = [(len(set(core) & set(taken)), len(core)) for core in free if set(core) & set(taken)]
    for each in range(2, 9):
        whole, rest = divmod(len(taken), each)
        given_by = sorted(share for share, _ in shares)
        wanted = sorted([each] * whole + ([rest] if rest else []))
        if given_by == wanted and all(there >= each for _, there in shares):
            return True
    return False


def possible(free: list[tuple[int, ...]], threads: int, count: int, policy: ThreadPolicy) -> bool:
    if policy is ISOLATE and threads > 1:
        return False
    cpus = [cpu for core in free for cpu in core]
    choices = itertools.combinations(cpus, count)
    if policy is REQUIRE:
        return threads > 1 and any(beside_each_other(free, choice) for choice in choices)
    return any(True for _ in choices)


@st.composite
def cells(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], int]:
    threads = draw(st.sampled_from([1, 2, 2, 4]))
    cores = draw(st.integers(1, 8 // threads + 1))
    free = []
    for core in range(cores):
        cpus = range(core * threads, (core + 1) * threads)
        left = tuple(sorted(draw(st.sets(st.sampled_from(list(cpus))))))
        if left:
            free.append(left)
    return free, threads


@settings(max_examples=400, deadline=None)
@given(cells(), st.integers(1, 9), st.sampled_from(ThreadPolicy))
def test_cpus_are_found_just_where_there_are_such(
    cell: tuple[list[tuple[int, ...]], int], count: int, policy: ThreadPolicy
) -> None:
    free, threads = cell
    got = pinning.choose(free, threads, count, policy)
    assert isinstance(got, tuple) == possible(free, threads, count, policy)
    if isinstance(got, tuple):
        assert len(set(got)) == len(got) == count
        assert set(got) <= {cpu for core in free for cpu in core}
        if policy is REQUIRE:
            assert beside_each_other(free, got)


def test_those_that_prefer_get_threads_of_one_core_while_there_are() -> None:
    assert pinning.choose([(0,), (2, 3), (4, 5)], 2, 2) == (2, 3)
    assert pinning.choose([(0,), (2,), (4, 5)], 2, 4) == (0, 2, 4, 5)


def test_an_odd_one_breaks_no_core_where_a_broken_one_is_left() -> None:
    assert pinning.choose([(0, 1), (3,), (4, 5)], 2, 1) == (3,)
    assert pinning.choose([(0, 1), (3,), (4, 5)], 2, 3) == (0, 1, 3)
    # but one that wants neighbours gets a core that has both free
    assert pinning.choose([(0, 1), (3,), (4, 5)], 2, 1, REQUIRE) == (0,)


@pytest.mark.parametrize(
    ("free", "threads", "policy", "why"),
    [
        ([(0, 1)], 2, PREFER, pinning.NOT_ENOUGH),
        ([(0,), (1,), (2,)], 1, REQUIRE, pinning.NO_THREADS),
        ([(0, 1), (2, 3)], 2, ISOLATE, pinning.THREADS),
        ([(0,), (2,), (4,)], 2, REQUIRE, pinning.BROKEN),
    ],
)
def test_a_refusal_says_what_is_missing(
    free: list[tuple[int, ...]], threads: int, policy: ThreadPolicy, why: str
) -> None:
    assert pinning.choose(free, threads, 3, policy) == why
