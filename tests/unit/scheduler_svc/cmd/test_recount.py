# SPDX-License-Identifier: Apache-2.0
"""The repair of the sums by project as a command."""

import sys

import pytest
from sqlalchemy import delete

from scheduler_svc.cmd import placement
from scheduler_svc.store.allocations import ANY, AllocationChange, Usage
from scheduler_svc.store.sql.tables import TALLIES
from tests.unit.scheduler_svc.store.databases import engine, sql_partition


@pytest.fixture
def run(monkeypatch, run_folder):
    """Return a function that runs the command with a configuration that has a URL of a store."""
    monkeypatch.setenv("HOME", str(run_folder))

    def recount(url):
        path = run_folder / "gantt.conf"
        path.write_text(f"[store]\nurl = {url}\n[api]\nauth_strategy = noauth2\n")
        monkeypatch.setattr(sys, "argv", ["gantt-placement", "recount", "--config-file", str(path)])
        return placement.main()

    return recount


def test_sums_are_repaired(run, run_folder, capsys):
    url = f"sqlite:///{run_folder / 'store.sqlite'}"
    partition = sql_partition(url, partition="default")
    partition.add_host("h1")
    assert partition.store.allocate([AllocationChange("c", {"h1": {"VCPU": 1}}, "p", "u", ANY, "VM")]) is None
    assert partition.store.usages("p")["VM"].consumers == 1
    with engine(url).begin() as connection:
        connection.execute(delete(TALLIES))
    assert partition.store.usages("p") == {}

    assert run(url) == 0

    assert capsys.readouterr().out == "Partition default: claims summed up: 1\n"
    assert partition.store.usages("p") == {"VM": Usage(1, {"VCPU": 1})}
    partition.check()
    partition.store.close()


@pytest.mark.parametrize(
    ("url", "status", "text"),
    [
        ("sqlite:////nowhere-at-all/store.sqlite", 69, "cannot be reached"),
        ("sqlite:///relative.sqlite", 78, "absolute path"),
    ],
)
def test_failures_are_one_line_with_a_status(run, capsys, url, status, text):
    assert run(url) == status
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
