# SPDX-License-Identifier: Apache-2.0
"""lab.sh rpc: claims match the answers. Times are not tested."""

import contextlib
import signal
from pathlib import Path

import numpy as np
import pytest

from devstack.lab import hosts, private_cluster
from devstack.lab.rpc import command
from devstack.lab.rpc.callers import CallTimes, ClientCalls
from devstack.servers.process import start_ticks
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.store.memory import MemoryStore
from tests.support import asking
from tests.unit.devstack.lab import ending

# Blocks are longer than the ticks in which processor time is counted.
SMALL = ("--hosts", "60", "--clients", "2", "--workers", "1", "--batch", "3", "--seconds", "0.2")


@pytest.mark.parametrize("bus", ["embedded", pytest.param("rabbit", marks=pytest.mark.long)])
def test_every_answer_is_a_claim_without_overcommit(bus, monkeypatch):
    monkeypatch.setattr(command, "BLOCKS", 1)
    single, batch, half, whole, account = asking.run_json("rpc", *SMALL, "--bus", bus, "--loads", "50,100")
    # Then each batch size and the echo were measured
    assert (single["batch"], batch["batch"]) == (1, 3)
    assert single["ratio"] == pytest.approx(single["calls_per_s"] / single["echo_calls_per_s"])
    assert batch["ratio"] == pytest.approx(batch["placements_per_s"] / single["placements_per_s"])
    assert all(row["p99_ms"] >= row["p50_ms"] > 0 and row["budget"] is None for row in (single, batch))
    assert all(row["processor_ms"] > 0 and row["echo_processor_ms"] > 0 for row in (single, batch))
    # And selections that arrived at shares of that rate
    assert [row["arrivals_per_s"] / single["calls_per_s"] for row in (half, whole)] == pytest.approx([0.5, 1.0])
    for row in (half, whole):
        assert row["p999_ms"] >= row["p99_ms"] >= row["p50_ms"] > 0 and row["calls"] >= 2
        assert row["ratio"] == pytest.approx(row["p99_ms"] / row["echo_p99_ms"])
    # And the store has the claims that the clients were answered, warm-up included
    assert account["claims"] == account["answered"] >= 2 * 2 * (1 + 3)
    assert (account["ratio"], account["overcommit"]) == (0, 0)


def test_executors_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TURNS", 1)
    monkeypatch.setattr(command, "TURN_BLOCKS", 1)
    eventlet, threading, echo, single, _load, account = asking.run_json(
        *("rpc", "--hosts", "60", "--clients", "1", "--workers", "1", "--batch", "1", "--seconds", "0.05"),
        *("--bus", "embedded", "--executors", "eventlet,threading", "--loads", "50"),
    )
    # Then each executor was measured, and compared with the first one
    assert (eventlet["executor"], threading["executor"]) == ("eventlet", "threading")
    assert single["ratio"] == pytest.approx(threading["calls_per_s"] / eventlet["calls_per_s"])
    assert echo["ratio"] == pytest.approx(threading["echo_calls_per_s"] / eventlet["echo_calls_per_s"])
    # And the claims of all turns are accounted for
    assert account["claims"] == account["answered"] >= 2 * 2
    assert (account["ratio"], account["overcommit"]) == (0, 0)


def test_metrics_are_scraped_and_their_processor_time_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TURNS", 1)
    monkeypatch.setattr(command, "TURN_BLOCKS", 1)
    scrapes = []
    monkeypatch.setattr(
        private_cluster, "scrape", lambda port, scrape=private_cluster.scrape: scrapes.append(scrape(port))
    )
    _plain, metrics, echo, single, _load, _account = asking.run_json(
        *("rpc", "--hosts", "60", "--clients", "1", "--workers", "1", "--batch", "1", "--seconds", "0.3"),
        *("--bus", "embedded", "--executors", "threading,metrics", "--loads", "50"),
    )
    assert metrics["executor"] == "metrics" and metrics["calls_per_s"] > 0
    assert single["ratio"] > 0 and echo["ratio"] > 0
    assert scrapes and b"gantt_worker_process_id" in scrapes[0]


@pytest.mark.parametrize(("refusals", "faults"), [(0, 0), (1, 3)])
def test_claims_without_an_answer_are_faults(refusals, faults):
    # Given a store with six claims, and two client calls for three instances each
    with contextlib.closing(MemoryStore("lab", log_length=1000, decision_bytes=1 << 20)) as store:
        nodes = hosts.make_nodes(6)
        hosts.join(store, nodes)
        snapshot = store.snapshot()
        for number, name in enumerate(nodes):
            intent = Intent(f"vm{number}", 1, [Candidate(name)])
            assert store.prepare(
                ClaimBatch("r", "p", "u", {"VCPU": 1}, [intent], snapshot.epoch, snapshot.position, 1000)
            ).accepted
        block = CallTimes.of([ClientCalls(0.0, np.array([1.0, 2.0]), np.array([1.0, 1.0]), refusals)])
        # When one of the calls was refused, then three claims have no answer
        row = command.account("embedded", [{3: [block]}], store, 0)
    assert (row.ratio, row.ok) == (faults, not faults)


def processes_below(folder):
    """Return the processes with a working folder in ``folder``: a cluster's servers and daemons."""
    pids = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cwd").readlink().is_relative_to(folder):
                pids.add(int(path.name))
    return {pid for pid in pids if start_ticks(pid)}


def test_terminated_measurement_leaves_nothing(run_folder):
    # Given a measurement with running clients and daemons
    with ending.running_lab(run_folder, "rpc", *SMALL[:-1], "5", "--bus", "embedded") as lab:
        ending.poll(
            lambda: any(" Ready: " in log.read_text() for log in run_folder.glob("gantt-lab-*/log/scheduler.log"))
        )
        processes = processes_below(run_folder)
        assert len(processes) > 4  # two servers, two daemons with a worker each
        # When it is terminated, then nothing is left
        lab.send_signal(signal.SIGTERM)
        assert lab.wait(60) == 128 + signal.SIGTERM
        ending.poll(lambda: not processes_below(run_folder))
        assert not any(run_folder.glob("gantt-lab-*"))
