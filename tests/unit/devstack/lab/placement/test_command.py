# SPDX-License-Identifier: Apache-2.0
"""lab.sh placement beside the server that does nothing. Times are not tested."""

import pytest

from devstack.lab.placement import command
from tests.support import asking

QUESTIONS = ("candidates", "candidates for five devices", "PUT allocations", "list of providers")


def test_each_question_is_a_row_beside_the_least_work(monkeypatch):
    monkeypatch.setattr(command, "BLOCKS", 1)
    rows = asking.run_json("placement", "--alone", "--hosts", "12", "--calls", "2", "--sync", "commit")
    assert [row["name"] for row in rows] == [f"{name}, 12 hosts, sync each commit: ours / least" for name in QUESTIONS]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["ours_p50_ms"] / row["least_p50_ms"])
        assert row["budget"] is None, "there are budgets at 10,000 hosts only"


def test_missing_placement_is_reported_with_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, _, error = asking.run("placement", "--hosts", "1")
    assert code == 1
    assert "./devstack/nova.sh --install" in error
