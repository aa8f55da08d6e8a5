# SPDX-License-Identifier: Apache-2.0
"""NUMA conditions from the cells that a host reported and the claims since."""

from typing import Any

import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget, find_first
from rpcapi.resources.trees.tree import AllocationCandidate, Provider, ProviderInventory, ProviderTree, TreeRequest
from scheduler_svc.core.trees.numa import read_conditions

# Two cells of two cores with two threads each: one pinned thread per core in the first, one pinned core in the second.
BROKEN = HostCell(0, "numa0", cores=((0, 1), (2, 3)), threads=2, pinned=frozenset({1, 3}))
WHOLE = HostCell(1, "numa1", cores=((4, 5), (6, 7)), threads=2, pinned=frozenset({4, 5}))
NUMA = {
    "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 1}],
    "thread_policy": "require",
}


def tree(used: tuple[int, ...] = (2, 2)) -> ProviderTree:
    cells = [
        Provider(f"alpha/node0/numa{number}", "alpha/node0", {"PCPU": ProviderInventory(4, use)})
        for number, use in enumerate(used)
    ]
    return ProviderTree([Provider("alpha/node0"), *cells])


def search(
    numa: dict[str, Any], cell_states: list[Any], used: tuple[int, ...] = (2, 2)
) -> AllocationCandidate | NoCandidateReason:
    amounts = {"PCPU": len(numa["cells"][0]["pcpus"])}
    request = TreeRequest((RequestGroup("_numa0", amounts),))
    return find_first(tree(used), request, StepBudget(), read_conditions(numa, cell_states, tree(used)))


def test_cells_with_equal_free_amounts_differ_by_their_free_cores() -> None:
    candidate = search(NUMA, [BROKEN.as_dict(), WHOLE.as_dict()])
    assert isinstance(candidate, AllocationCandidate)
    assert candidate.providers["_numa0"] == ("alpha/node0/numa1",)


def test_claims_since_the_report_count() -> None:
    cell_states = [BROKEN.as_dict(), WHOLE.as_dict()]
    assert search(NUMA, cell_states, (2, 3)) is NoCandidateReason.NONE


def test_releases_since_the_report_count() -> None:
    candidate = search(NUMA, [BROKEN.as_dict(), WHOLE.as_dict()], (1, 3))
    assert isinstance(candidate, AllocationCandidate)
    assert candidate.providers["_numa0"] == ("alpha/node0/numa0",)


@pytest.mark.parametrize(("used", "fits"), [(1, True), (2, False)])
def test_guests_of_one_request_are_pinned_like_the_host_does(used: int, fits: bool) -> None:
    # given a free core and a half used one, and another guest of this request that takes part of the free one
    cell = HostCell(0, "numa0", cores=((0, 1), (2, 3)), threads=2, pinned=frozenset({1}))
    numa = {**NUMA, "cells": [{"id": 0, "group": "_numa0", "cpus": [0], "pcpus": [0], "memory_mb": 1}]}
    assert isinstance(search(numa, [cell.as_dict()], (used,)), AllocationCandidate) is fits


def test_cell_without_a_provider_serves_no_guest() -> None:
    assert search(NUMA, [BROKEN.as_dict(), WHOLE.as_dict()], (2,)) is NoCandidateReason.NONE


@pytest.mark.parametrize(
    "cell_states", [[], [{}], [None], [{"id": 0}], [WHOLE.as_dict() | {"pinned": "none"}], ["cell"]]
)
def test_host_without_valid_cells_serves_no_topology(cell_states: list[Any]) -> None:
    assert search(NUMA, cell_states) is NoCandidateReason.NONE
