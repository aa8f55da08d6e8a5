# SPDX-License-Identifier: Apache-2.0
"""gantt-lab rpc: that what is claimed is what was answered. How fast, no test says."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from devstack.lab import hosts, rpc
from devstack.lab.rows import ResultRow
from devstack.lab.rpc_callers import CallBlock, ClientCalls
from devstack.servers.process import start_ticks
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import Candidate, ClaimBatch, Intent
from tests.unit.devstack.lab import asking
from tests.unit.devstack.lab.test_main import poll

SMALL = ("--hosts", "60", "--clients", "2", "--workers", "1", "--batch", "3", "--seconds", "0.05")


@pytest.mark.parametrize("bus", ["embedded", pytest.param("rabbit", marks=pytest.mark.long)])
def test_every_answer_is_a_claim_and_no_host_is_oversold(bus, monkeypatch):
    monkeypatch.setattr(rpc, "BLOCKS", 1)
    single, batch, account = asking.run_json("rpc", *SMALL, "--bus", bus)
    # Then each size of batch was called for, and its floor too
    assert (single["batch"], batch["batch"]) == (1, 3)
    assert single["ratio"] == pytest.approx(single["calls_per_s"] / single["echo_calls_per_s"])
    assert batch["ratio"] == pytest.approx(batch["placements_per_s"] / single["placements_per_s"])
    assert all(row["p99_ms"] >= row["p50_ms"] > 0 and row["budget"] is None for row in (single, batch))
    assert all(row["processor_ms"] > 0 and row["echo_processor_ms"] > 0 for row in (single, batch))
    # And the store holds what the clients were answered, the warm-up included
    assert account["claims"] == account["answered"] >= 2 * 2 * (1 + 3)
    assert (account["ratio"], account["overcommit"]) == (0, 0)


@pytest.mark.parametrize("given", ["nan", "0", "-1", "inf", "soon"])
def test_lots_in_which_nobody_would_call_are_refused_before_the_work(given, capsys):
    with pytest.raises(SystemExit):
        asking.run("rpc", f"--seconds={given}")
    assert "is not a number of seconds above 0 and up to 600" in capsys.readouterr().err


@pytest.mark.parametrize(("refused", "amiss"), [(0, 0), (1, 3)])
def test_a_claim_that_nobody_was_answered_is_told_of(refused, amiss):
    # Given a store with six claims, and clients of two calls for three instances each
    with contextlib.closing(MemoryStore("lab", log_length=1000, decisions=100)) as store:
        nodes = hosts.make_nodes(6)
        hosts.join(store, nodes)
        seen = store.snapshot()
        for number, name in enumerate(nodes):
            intent = Intent(f"vm{number}", 1, [Candidate(name)])
            assert store.prepare(
                ClaimBatch("r", "p", "u", {"VCPU": 1}, [intent], seen.epoch, seen.position, 1000)
            ).accepted
        lot = CallBlock([ClientCalls(0.0, np.array([1.0, 2.0]), np.array([1.0, 1.0]), refused)])
        # When one of the calls was refused by what its client heard, then three claims are nobody's
        row = rpc.account(rpc.RpcSetting("embedded", 1, 6), {3: [lot]}, store, 0)
    assert (row.ratio, row.ok) == (amiss, not amiss)


def test_draws_a_curve_for_each_bus_and_number_of_workers():
    matplotlib = pytest.importorskip("matplotlib.figure")
    figure = matplotlib.Figure()
    found = [
        ResultRow("it", 1.0, figures={"bus": bus, "workers": workers, "batch": batch, "placements_per_s": 10.0 * batch})
        for bus in ("rabbit", "embedded")
        for workers in (1, 2)
        for batch in (1, 10)
    ]
    rpc.RpcBenchmark.draw(None, figure, [*found, ResultRow("claims amiss", 0, 0, figures={"claims": 4})])
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [2, 2, 2, 2]


@pytest.mark.parametrize("given", ["0", "1,x", ""])
def test_refuses_impossible_batches(given, capsys):
    with pytest.raises(SystemExit):
        asking.run("rpc", f"--batch={given}")
    assert "whole number of at least 1" in capsys.readouterr().err


def below(folder):
    """Return the processes whose working folder is in ``folder``: a cluster's servers and daemons."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cwd").readlink().is_relative_to(folder):
                found.add(int(path.name))
    return {pid for pid in found if start_ticks(pid)}


def test_leaves_nothing_behind_when_it_is_terminated(run_folder):
    # Given a measurement of which clients and daemons run
    lab = subprocess.Popen(
        [sys.executable, "-m", "devstack.lab.main", "rpc", *SMALL[:-1], "5", "--bus", "embedded"],
        env={**os.environ, "TMPDIR": str(run_folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    poll(lambda: any(" Ready: " in log.read_text() for log in run_folder.glob("gantt-lab-*/log/scheduler.log")))
    begotten = below(run_folder)
    assert len(begotten) > 4  # two servers, two daemons with a worker each
    # When it is told to stop, then nothing is left
    lab.send_signal(signal.SIGTERM)
    assert lab.wait(60) == 128 + signal.SIGTERM
    poll(lambda: not below(run_folder))
    assert not any(run_folder.glob("gantt-lab-*"))
