# SPDX-License-Identifier: Apache-2.0
"""Result rows: their budgets, their JSON form, and their table."""

import json

import numpy as np
import pytest

from devstack.lab.rows import WIDTH, ResultRow, json_text, table


@pytest.mark.parametrize(
    ("ratio", "bound", "ok"),
    [(5.0, "at most", True), (5.1, "at most", False), (5.0, "at least", True), (4.9, "at least", False)],
)
def test_row_is_ok_within_its_budget(ratio, bound, ok):
    assert ResultRow("a", ratio, 5.0, bound).ok is ok
    assert ResultRow("a", np.float64(ratio), 5.0, bound).ok == ok


def test_row_without_budget_is_ok():
    assert ResultRow("a", 1e9).ok


def test_numpy_values_have_a_json_form():
    figures = {
        "calls": np.int64(3),
        "short": np.float32(0.5),
        "verified": np.bool_(True),
        "per_size": np.array([1, 2]),
        "by_name": {"p50_ms": np.uint8(7)},
    }
    row = ResultRow("a", np.float32(2.0), np.int64(5), figures=figures)
    assert json.loads(json_text(row.as_dict())) == {
        "name": "a",
        "ratio": 2.0,
        "budget": 5,
        "bound": "at most",
        "ok": True,
        "calls": 3,
        "short": 0.5,
        "verified": True,
        "per_size": [1, 2],
        "by_name": {"p50_ms": 7},
    }


def test_object_without_json_form_is_named():
    with pytest.raises(TypeError, match="a set has no JSON form"):
        json_text({"nodes": {1}})


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
