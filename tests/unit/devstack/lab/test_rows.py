# SPDX-License-Identifier: Apache-2.0
"""Result rows: their budgets, their JSON form, and their table."""

import json

import numpy as np
import pytest

from devstack.lab.rows import WIDTH, ResultRow, table


@pytest.mark.parametrize(
    ("ratio", "bound", "ok"),
    [(5.0, "at most", True), (5.1, "at most", False), (5.0, "at least", True), (4.9, "at least", False)],
)
def test_row_is_ok_within_its_budget(ratio, bound, ok):
    assert ResultRow("a", ratio, 5.0, bound).ok is ok


def test_row_without_budget_is_ok():
    assert ResultRow("a", 1e9).ok


def test_ratio_of_numpy_numbers_has_a_json_form():
    row = ResultRow("a", np.float64(2.0), 5.0, figures={"calls": 3})
    assert json.loads(json.dumps(row.as_dict())) == {
        "name": "a",
        "ratio": 2.0,
        "budget": 5.0,
        "bound": "at most",
        "ok": True,
        "calls": 3,
    }


def test_equal_figures_are_columns():
    text = table(
        [ResultRow("a", 1.0, 2.0, figures={"p50_us": 12.3456}), ResultRow("b", 3.0, 2.0, figures={"p50_us": 1e5})]
    )
    header, *lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    assert header == ["question", "p50_us", "ratio", "budget", "kept"]
    assert lines == [["a", "12.35", "1", "at most 2", "yes"], ["b", "100000", "3", "at most 2", "NO"]]


def test_different_figures_share_one_wrapped_column():
    figures = {f"figure_{number}": number for number in range(12)}
    text = table([ResultRow("a", 1.0, figures=figures), ResultRow("b", 1.0, figures={"other": 1})])
    assert "figures" in text and "figure_11=11" in text and "other=1" in text
    lines = [line.split("|")[2].strip() for line in text.splitlines() if "|" in line]
    assert max(map(len, lines)) <= WIDTH
