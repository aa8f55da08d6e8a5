# SPDX-License-Identifier: Apache-2.0
"""``gantt server evacuate``."""

from tests.unit.rpcapi.cli.test_server import add_instances


def test_servers_are_evacuated_each_by_a_migration_of_its_own(cluster, gantt):
    add_instances(cluster, "a", "b", status="ERROR")
    assert gantt("server", "evacuate", "a", "b", "--wait").err == "2 evacuated\n"
    assert cluster.conductor.evacuations == [(["a", "b"], None)]
    assert [move.instance for move in cluster.conductor.migrations.values()] == ["a", "b"]
    assert {cluster.conductor.instances[name].status for name in "ab"} == {"ACTIVE"}


def test_target_is_passed_on_and_without_wait_it_returns_at_once(cluster, gantt):
    add_instances(cluster, "a", status="ERROR")
    cluster.conductor.stuck = True
    assert gantt("server", "evacuate", "a", "--host", "host2/node1").err == "1 to be evacuated\n"
    assert cluster.conductor.evacuations == [(["a"], "host2/node1")]
    assert cluster.conductor.instances["a"].status == "REBUILD"


def test_refusals_are_one_line(cluster, gantt):
    add_instances(cluster, "a", status="SHELVED")
    result = gantt("server", "evacuate", "a")
    assert (result.code, result.err) == (1, "Instance a: it is SHELVED\n")
    cluster.conductor.up = "host1"
    result = gantt("server", "evacuate", "a")
    assert result.code == 1 and result.err.startswith("Host 'host1' is up") and result.err.count("\n") == 1
