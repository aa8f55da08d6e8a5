# SPDX-License-Identifier: Apache-2.0
"""What is found in a host's tree, judged by what the host told of its cells."""

from typing import Any

import pytest

from rpcapi.model.groups import RequestGroup
from rpcapi.model.numa.cells import HostCell
from rpcapi.model.tree_search import NoCandidateReason, StepBudget, find_first
from rpcapi.model.trees import AllocationCandidate, Provider, ProviderInventory, ProviderTree, TreeRequest
from scheduler_svc.candidates.numa import NumaFit

# Two cells of two cores with two threads each: of the first a thread of each core is taken, of the second a whole core.
BROKEN = HostCell(0, "numa0", cores=((0, 1), (2, 3)), threads=2, pinned=frozenset({1, 3}))
WHOLE = HostCell(1, "numa1", cores=((4, 5), (6, 7)), threads=2, pinned=frozenset({4, 5}))
NUMA = {
    "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 1}],
    "thread_policy": "require",
}
WANTED = TreeRequest((RequestGroup("_numa0", {"PCPU": 2}),))


def tree(used: tuple[int, int] = (2, 2), fit: NumaFit | None = None) -> ProviderTree:
    cells = [
        Provider(
            f"alpha/node0/numa{number}",
            "alpha/node0",
            {"PCPU": ProviderInventory(4, use)},
            symmetry_key=fit.symmetry_key(f"alpha/node0/numa{number}") if fit else None,
        )
        for number, use in enumerate(used)
    ]
    return ProviderTree([Provider("alpha/node0"), *cells])


def found(numa: dict[str, Any], told: list[Any], used: tuple[int, int] = (2, 2)) -> AllocationCandidate | NoCandidateReason:
    fit = NumaFit(numa, told, tree(used))
    return find_first(tree(used, fit), WANTED, StepBudget(), fit.accepts)


def test_cells_with_as_much_left_are_told_apart_by_where_it_is() -> None:
    got = found(NUMA, [BROKEN.as_dict(), WHOLE.as_dict()])
    assert isinstance(got, AllocationCandidate)
    assert got.providers["_numa0"] == ("alpha/node0/numa1",)


def test_they_are_alike_to_a_guest_that_does_not_care() -> None:
    fit = NumaFit({**NUMA, "thread_policy": None}, [BROKEN.as_dict(), WHOLE.as_dict()], tree())
    assert fit.symmetry_key("alpha/node0/numa0") == fit.symmetry_key("alpha/node0/numa1")
    assert fit.symmetry_key("alpha/node0") is None


def test_what_was_claimed_since_the_report_counts() -> None:
    told = [BROKEN.as_dict(), WHOLE.as_dict()]
    assert found(NUMA, told, (4, 2)) != NoCandidateReason.NONE
    assert found(NUMA, told, (2, 3)) == NoCandidateReason.REFUSED


def test_what_was_released_since_the_report_may_be_what_is_needed() -> None:
    got = found(NUMA, [BROKEN.as_dict(), WHOLE.as_dict()], (1, 3))
    assert isinstance(got, AllocationCandidate)
    assert got.providers["_numa0"] == ("alpha/node0/numa0",)


def test_guests_of_one_request_are_laid_beside_each_other_as_the_host_will() -> None:
    # given a whole core and a broken one, and a guest of this request that will break the whole one
    cell = HostCell(0, "numa0", cores=((0, 1), (2, 3)), threads=2, pinned=frozenset({1}))
    one = {**NUMA, "cells": [{"id": 0, "group": "_numa0", "cpus": [0], "pcpus": [0], "memory_mb": 1}]}
    for used, accepted in ((1, True), (2, False)):
        root = ProviderTree([Provider("alpha/node0"), Provider("alpha/node0/numa0", "alpha/node0", {"PCPU": ProviderInventory(4, used)})])
        fit = NumaFit(one, [cell.as_dict()], root)
        assert fit.accepts(AllocationCandidate({"alpha/node0/numa0": {"PCPU": 1}}, {"_numa0": ("alpha/node0/numa0",)})) is accepted


@pytest.mark.parametrize("told", [[], [{}], [None], [{"id": 0}], [WHOLE.as_dict() | {"pinned": "none"}], ["cell"]])
def test_a_host_that_told_no_cells_or_nonsense_takes_no_topology(told: list[Any]) -> None:
    assert found(NUMA, told) == NoCandidateReason.REFUSED
