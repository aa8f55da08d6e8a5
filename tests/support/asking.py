# SPDX-License-Identifier: Apache-2.0
"""Runs the lab in this process and checks the form of its JSON output."""

import io
import json
from typing import Any

from devstack.lab.main import LabApp

ROW_KEYS = {"name", "ratio", "budget", "bound", "ok"}


def run(*argv: str) -> tuple[int, str, str]:
    """Run the command; return its exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    code = LabApp(stdout=out, stderr=err).run(list(argv))
    return code, out.getvalue(), err.getvalue()


def run_json(*argv: str) -> list[dict[str, Any]]:
    """Run the command with --json and return its rows, after checking that they are well-formed and consistent."""
    code, out, err = run(*argv, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert set(answer) == {"machine", "rows"}
    assert answer["machine"]["cores"] >= 1
    rows: list[dict[str, Any]] = answer["rows"]
    for row in rows:
        assert row.keys() >= ROW_KEYS
        if row["budget"] is None:
            assert row["ok"]
        elif row["bound"] == "at most":
            assert row["ok"] == (row["ratio"] <= row["budget"])
        else:
            assert row["ok"] == (row["ratio"] >= row["budget"])
        for key in row.keys() - ROW_KEYS:
            assert isinstance(row[key], (int, float, str)), key
    return rows
