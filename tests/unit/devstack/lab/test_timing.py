# SPDX-License-Identifier: Apache-2.0
"""Alternating blocks of subjects, and result rows with budgets."""

import gc

import pytest

from devstack.lab.rows import ResultRow, table
from devstack.lab.timing import interleave, take_turns


def test_order_of_turns_reverses_after_each_round():
    assert list(take_turns(["a", "b"], 3)) == [(0, "b"), (0, "a"), (1, "a"), (1, "b"), (2, "b"), (2, "a")]


def test_subjects_alternate_in_blocks_and_the_first_block_is_discarded():
    calls = []
    times = interleave(
        {"a": lambda number: calls.append(("a", number)), "b": lambda number: calls.append(("b", number))},
        blocks=2,
        size=2,
    )
    assert [name for name, _ in calls] == ["b", "b", "a", "a", "a", "a", "b", "b", "b", "b", "a", "a"]
    assert [number for name, number in calls if name == "a"] == [0, 1, 2, 3, 4, 5]
    assert len(times["a"].seconds) == len(times["b"].seconds) == 4


def test_garbage_collection_is_enabled_after_a_failure():
    def fail(number: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interleave({"a": fail}, blocks=1, size=1)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("ratio", "budget", "bound", "ok"),
    [
        (2.0, 2.0, "at most", True),
        (2.1, 2.0, "at most", False),
        (0.9, 0.98, "at least", False),
        (9, None, "at most", True),
    ],
)
def test_row_is_ok_within_its_budget(ratio, budget, bound, ok):
    row = ResultRow("it", ratio, budget, bound, {"p50_us": 3.5})
    assert row.ok is ok
    assert row.as_dict()["p50_us"] == 3.5
    assert ("NO" in table([row])) is not ok


def test_rows_with_different_figures_share_a_column():
    output = table(
        [ResultRow("one", 1.0, figures={"p50_us": 1.25}), ResultRow("two", 2.0, figures={"refused": 4, "how": "well"})]
    )
    assert "p50_us=1.25" in output
    assert "refused=4 how=well" in output
    assert "p50_us " in table([ResultRow("one", 1.0, figures={"p50_us": 1.25})])
