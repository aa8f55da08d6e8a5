# SPDX-License-Identifier: Apache-2.0
"""Result rows: their budgets, and their JSON form."""

import json

import numpy as np
import pytest

from devstack.lab.rows import ResultRow


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
