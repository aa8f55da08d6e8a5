# SPDX-License-Identifier: Apache-2.0
"""Pages of lists ordered by name."""

import pytest

from scheduler_svc.store import paging

NAMES = ["c", "a", "d", "b"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_pages_contain_every_name_once_in_order(limit: int) -> None:
    listed: list[str] = []
    page, marker = paging.cut(NAMES, None, limit)
    listed += page
    while marker is not None:
        assert len(page) == limit
        page, marker = paging.cut(NAMES, marker, limit)
        listed += page
    assert listed == sorted(NAMES)


def test_marker_of_a_removed_name_continues_after_it() -> None:
    assert paging.cut(["a", "c"], "b", 10) == (["c"], None)


def test_nothing_after_the_last_name() -> None:
    assert paging.cut(NAMES, "d", 10) == ([], None)


@pytest.mark.parametrize(
    ("size", "expected"), [(1, [["c"], ["a"], ["d"], ["b"]]), (3, [["c", "a", "d"], ["b"]]), (4, [NAMES]), (5, [NAMES])]
)
def test_batches_contain_all_items_in_order(size: int, expected: list[list[str]]) -> None:
    assert list(paging.batches(NAMES, size)) == expected


def test_there_is_no_batch_of_no_items() -> None:
    assert list(paging.batches([], 3)) == []


@pytest.mark.parametrize("marker", [None, "b"])
@pytest.mark.parametrize("count", range(6))
def test_entries_of_all_pages_are_read(count: int, marker: str | None) -> None:
    names = "abcde"[:count]
    listed = list(paging.entries(lambda start: paging.cut(names, start, 2), marker))
    assert listed == [name for name in names if marker is None or name > marker]
