# SPDX-License-Identifier: Apache-2.0
"""lab.sh sync: replicas equal a snapshot, and differences are detected. Times are not tested."""

from types import SimpleNamespace

import pytest

from devstack.lab import hosts
from devstack.lab.sync import command, load
from devstack.lab.sync.load import ReportingAgents, ReportTimes, ScheduledReports
from devstack.lab.sync.worker import ReplicaProgress, digest
from rpcapi.cli.command import CommandFailed
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from tests.support import asking


def test_replicas_equal_a_snapshot_and_every_change_is_measured(monkeypatch):
    monkeypatch.setattr(command, "STARTS", 1)
    monkeypatch.setattr(command, "ROUNDS", 1)
    argv = ["--hosts", "60", "--nodes-per-host", "3", "--minutes", "0.02", "--change", "1.0"]
    rows = {row["name"].split(",")[0]: row for row in asking.run_json("sync", *argv)}
    delay = rows["update to visible in every worker"]
    assert delay["changed"] == delay["reports"] >= 1
    assert 0 < delay["p50_ms"] <= delay["p99_ms"] == delay["ratio"]
    assert rows["catching up"]["entries"] == 20  # each service host's report is an entry
    start = rows["a worker's start"]
    assert (start["hosts"], start["ratio"]) == (60, start["process_s"])
    assert start["processor_s"] > 0
    assert (rows["replicas unlike a snapshot"]["replicas"], rows["replicas unlike a snapshot"]["ratio"]) == (2, 0)


def test_reports_without_changes_are_an_error(monkeypatch):
    monkeypatch.setattr(command, "STARTS", 1)
    code, _, err = asking.run("sync", "--hosts", "2", "--minutes", "0.001", "--change", "0.0001")
    assert code == 1
    assert "choose more --minutes or --change" in err


def test_delay_is_that_of_the_slowest_worker():
    # Given changes at positions 3 and 5, of which one worker applied the second together with the next
    fast = ReplicaProgress([(3, 10.001), (5, 10.012), (6, 10.020)], "", 0)
    slow = ReplicaProgress([(3, 10.004), (6, 10.030)], "", 0)
    # Then each delay is from sending until the last worker has the change
    assert list(command.report_delays([(3, 10.0), (5, 10.01)], [fast, slow]).seconds) == pytest.approx([0.004, 0.02])


@pytest.fixture
def store():
    """A partition of six nodes on two service hosts, in memory."""
    memory_store = MemoryStore("sync", log_length=10_000, decision_bytes=1 << 20)
    hosts.join(memory_store, load.spread(3, hosts.make_nodes(6)))
    yield memory_store
    memory_store.close()


def load_table(store):
    """Return a table that was loaded just now."""
    replica = Replica(store)
    replica.load()
    return replica.table


def test_missed_change_changes_the_digest(store):
    # Given a table, and one later report of each service host
    reporting_agents = ReportingAgents(store, load.spread(3, hosts.make_nodes(6)))
    before = load_table(store)
    changes = []
    result = reporting_agents.send(ScheduledReports(0, load.ALL), lambda: changes.append(1))
    # Then the old table's digest differs from a new one's, and two new ones are equal
    assert len(result.sent) == result.reports == len(changes) == 2
    assert result.position == store.snapshot().position
    assert digest(before) != digest(load_table(store)) == digest(load_table(store))


def test_reports_without_changes_write_no_log(store):
    reporting_agents = ReportingAgents(store, load.spread(3, hosts.make_nodes(6)))
    position = store.snapshot().position
    result = reporting_agents.send(ScheduledReports(0, 0.0), lambda: pytest.fail("nothing changed"))
    assert (result.sent, result.reports, store.snapshot().position) == ([], 2, position)


def test_series_without_a_change_is_rejected():
    times = ReportTimes([], 9, 4, 0.0)
    reporter = SimpleNamespace(send=lambda plans: None, receive=lambda seconds: [times])
    with pytest.raises(CommandFailed, match="None of 4 reports changed anything"):
        command._report(reporter, ScheduledReports(60, 0.1))
