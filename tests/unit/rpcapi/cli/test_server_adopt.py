# SPDX-License-Identifier: Apache-2.0
"""The command that adopts servers without a record."""

import pytest


@pytest.fixture
def running(cluster, hosts):
    """Two guests on host1 that no record knows."""
    cluster.conductor.guests["host1"] += [(uuid, 2, "host1/node1", "running") for uuid in "ab"]
    return cluster


def test_servers_are_recorded_as_their_host_runs_them(running, gantt):
    assert gantt("server", "adopt", "host1", "a", "b", "a", "--wait").err == "2 adopted\n"
    assert running.conductor.adopted == [("default", "host1", ["a", "b"])]
    assert {(item.attempt, item.host) for item in running.conductor.instances.values()} == {(2, "host1/node1")}


def test_partition_is_that_of_the_host(running, gantt):
    running.add_partition("host1")
    assert gantt("server", "adopt", "host1", "a").code == 0
    assert running.conductor.adopted == [("second", "host1", ["a"])]


def test_recorded_servers_are_not_deleted_by_an_adoption(cluster, running, gantt):
    gantt("server", "adopt", "host1", "a")
    result = gantt("server", "adopt", "host1", "a", "--delete")
    assert (result.code, result.err) == (1, "1 of 1 are recorded: a; delete those with `gantt server delete`\n")
    assert cluster.conductor.instances["a"].status != "DELETING"


def test_servers_are_deleted_on_request(running, gantt):
    assert gantt("server", "adopt", "host1", "a", "--delete", "--wait").err == "1 adopted and to be deleted\n"
    assert running.conductor.instances["a"].status == "DELETED"


def test_wait_fails_where_the_host_ended_it(running, gantt, monkeypatch):
    running.conductor.stuck = True
    result = gantt("server", "adopt", "host1", "a", "--delete", "--wait", "--timeout", "0.2")
    assert (result.code, result.err) == (1, "1 of 1 are in another state: a: DELETING\n")


def test_refusals_adopt_nothing(running, gantt):
    result = gantt("server", "adopt", "host1", "a", "c")
    assert (result.code, result.err) == (1, "Instance c: host host1 runs no attempt of it\n")
    assert gantt("server", "adopt", "host1/node1", "a").code == 1
    assert gantt("server", "adopt", "nowhere", "a").code == 1
    assert gantt("server", "adopt", "host1").code == 2
    assert running.conductor.adopted == []
