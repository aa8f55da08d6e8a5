# SPDX-License-Identifier: Apache-2.0
"""gantt-lab sync: that replicas end up equal to a snapshot, and that what is not would be seen. How fast, no test."""

import pytest

from devstack.lab import hosts, sync, sync_course, sync_load
from devstack.lab.sync_load import ReportingAgents, ReportPlan
from devstack.lab.sync_table import digest
from devstack.lab.sync_worker import ReplicaProgress
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from tests.unit.devstack.lab import asking


def test_every_replica_equals_a_snapshot_and_every_change_is_seen(monkeypatch):
    monkeypatch.setattr(sync_course, "STARTS", 1)
    monkeypatch.setattr(sync_course, "ROUNDS", 1)
    argv = ["--hosts", "60", "--nodes-per-host", "3", "--minutes", "0.02", "--change", "1.0"]
    found = {row["name"].split(",")[0]: row for row in asking.run_json("sync", *argv)}
    delay = found["update to visible in every worker"]
    assert delay["changed"] == delay["reports"] >= 1
    assert 0 < delay["p50_ms"] <= delay["p99_ms"] == delay["ratio"]
    assert found["catching up"]["entries"] == 20  # each service host's report is an entry
    start = found["a worker's start"]
    assert (start["hosts"], start["ratio"]) == (60, start["process_s"])
    assert start["processor_s"] > 0
    assert (found["replicas unlike a snapshot"]["replicas"], found["replicas unlike a snapshot"]["ratio"]) == (2, 0)


def test_reports_that_change_nothing_are_no_answer(monkeypatch):
    monkeypatch.setattr(sync_course, "STARTS", 1)
    code, _, err = asking.run("sync", "--hosts", "2", "--minutes", "0.001", "--change", "0.0001")
    assert code == 1
    assert "choose more --minutes or --change" in err


@pytest.mark.parametrize("given", ["0", "-1", "nan", "long", "1e9"])
def test_refuses_impossible_lengths(given, capsys):
    with pytest.raises(SystemExit):
        asking.run("sync", f"--minutes={given}")
    assert "number of minutes above 0" in capsys.readouterr().err


def test_the_delay_is_the_slowest_workers():
    # Given changes at positions 3 and 5, of which one worker saw the second together with the next
    quick = ReplicaProgress([(3, 10.001), (5, 10.012), (6, 10.020)], "", 0)
    slow = ReplicaProgress([(3, 10.004), (6, 10.030)], "", 0)
    # Then each counts from its sending to the last worker's knowing
    assert sync.delays_ms([(3, 10.0), (5, 10.01)], [quick, slow]) == pytest.approx([4, 20])


@pytest.fixture
def store():
    """A partition of six nodes on two service hosts, in memory."""
    made = MemoryStore("sync", log_length=10_000, decisions=100)
    hosts.join(made, sync_load.spread(3, hosts.make_nodes(6)))
    yield made
    made.close()


def loaded(store):
    """Return a table that was loaded now."""
    replica = Replica(store)
    replica.load()
    return replica.table


def test_a_change_that_was_missed_shows(store):
    # Given a table, and one report of a service host after it
    agents = ReportingAgents(store, sync_load.spread(3, hosts.make_nodes(6)))
    before = loaded(store)
    changed = []
    reported = agents.send(ReportPlan(0, sync_load.ALL), lambda: changed.append(1))
    # Then the old table differs from a new one, and that from itself not
    assert len(reported.sent) == reported.reports == len(changed) == 2
    assert reported.position == store.snapshot().position
    assert digest(before) != digest(loaded(store)) == digest(loaded(store))


def test_hosts_that_have_no_news_write_no_log(store):
    agents = ReportingAgents(store, sync_load.spread(3, hosts.make_nodes(6)))
    position = store.snapshot().position
    reported = agents.send(ReportPlan(0, 0.0), lambda: pytest.fail("nothing changed"))
    assert (reported.sent, reported.reports, store.snapshot().position) == ([], 2, position)
