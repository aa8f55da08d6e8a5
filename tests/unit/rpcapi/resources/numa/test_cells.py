# SPDX-License-Identifier: Apache-2.0
"""NUMA cells of a host: their reported form, and estimates of their use."""

import pytest

from rpcapi.resources.numa.cells import HostCell, count_pages, page_class
from rpcapi.resources.numa.pinning import ThreadPolicy

CELL = HostCell(
    1,
    "numa1",
    socket=1,
    cores=((0, 4), (1, 5), (2, 6)),
    shared=frozenset({3, 7}),
    threads=2,
    pinned=frozenset({0, 4, 1}),
    pages={2048: 512, 1048576: 2},
    used_pages={2048: 100, 1048576: 0},
)


def test_cell_is_read_back_from_its_report():
    assert CELL.as_dict() == {
        "id": 1,
        "path": "numa1",
        "socket": 1,
        "cores": [[0, 4], [1, 5], [2, 6]],
        "shared": "3,7",
        "threads": 2,
        "pinned": "0-1,4",
        "pages": {"2048": [512, 100], "1048576": [2, 0]},
    }
    assert HostCell.from_dict(CELL.as_dict()) == CELL


@pytest.mark.parametrize("change", [{"id": "x"}, {"cores": 7}, {"shared": "a-b"}, {"pages": {"2048": [1]}}])
def test_malformed_report_is_refused(change):
    with pytest.raises((KeyError, TypeError, ValueError)):
        HostCell.from_dict(CELL.as_dict() | change)


def test_free_cpus_are_grouped_by_core():
    assert CELL.free == [(5,), (2, 6)]


@pytest.mark.parametrize(
    ("size_kb", "amount_mb", "pages"), [(2048, 512, 256), (2048, 1, 1), (1048576, 1, 1), (4, 0, 0)]
)
def test_pages_are_rounded_up(size_kb, amount_mb, pages):
    assert count_pages(size_kb, amount_mb) == pages


def test_class_of_pages_names_their_size():
    assert page_class(2048) == "CUSTOM_MEMORY_PAGES_2048KB"


@pytest.mark.parametrize(
    ("used", "guest_cpus", "policy", "free"),
    [
        ({"PCPU": 3}, 0, ThreadPolicy.PREFER, [(5,), (2, 6)]),
        ({"PCPU": 5}, 2, ThreadPolicy.PREFER, [(5,)]),
        ({"PCPU": 99}, 1, ThreadPolicy.PREFER, []),
        ({"PCPU": 2}, 0, ThreadPolicy.PREFER, [(1, 5), (2, 6)]),
        ({}, 0, ThreadPolicy.PREFER, [(0, 4), (1, 5), (2, 6)]),
    ],
)
def test_cpus_are_pinned_or_unpinned_to_match_the_use(used, guest_cpus, policy, free):
    assert CELL.with_use(used, guest_cpus, policy).free == free


def test_pages_in_use_follow_the_amounts():
    used_pages = CELL.with_use({"CUSTOM_MEMORY_PAGES_2048KB": 512, "PCPU": 3}).used_pages
    assert used_pages == {2048: 256, 1048576: 0}
