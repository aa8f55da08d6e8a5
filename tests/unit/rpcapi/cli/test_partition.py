# SPDX-License-Identifier: Apache-2.0
"""``gantt partition``, and other commands with several partitions."""

import pytest


@pytest.fixture
def cluster_of_two(cluster):
    for name in ("host1", "host2"):
        cluster.scheduler.service(name)
        cluster.scheduler.node(f"{name}/node1")
    cluster.add_partition("host2")
    return cluster


def test_partitions_are_listed_with_hosts_and_claims(cluster_of_two, gantt):
    cluster_of_two.scheduler.unreachable = ["second"]
    first, second = gantt("partition", "list", "-f", "json").json
    assert first == {
        "name": "default",
        "state": "up",
        "hosts": 2,
        "alive": 0,
        "claims": {"confirmed": 1},
        "epoch": 7,
        "position": 9,
    }
    assert (second["name"], second["state"], second["claims"]) == ("second", "down", None)


@pytest.mark.parametrize("command", [("host", "list"), ("service", "list")])
def test_hosts_and_services_are_listed_with_their_partition(cluster_of_two, gantt, command):
    rows = gantt(*command, "-f", "json").json
    assert [row["partition"] for row in rows] == ["default", "second"]
    (row,) = gantt(*command, "-f", "json", "--partition", "second").json
    assert (row.get("name") or row["host"]).startswith("host2")


def test_host_is_shown_with_its_partition(cluster_of_two, gantt):
    assert gantt("host", "show", "host2", "-f", "json").json["partition"] == "second"


def test_claims_of_all_partitions_are_listed(cluster_of_two, gantt):
    cluster_of_two.claims.claim("a")
    cluster_of_two.claims2.claim("b", host="host2/node1")
    rows = gantt("claim", "list", "-f", "json").json
    assert [(row["consumer"], row["partition"]) for row in rows] == [("a", "default"), ("b", "second")]
    (row,) = gantt("claim", "list", "-f", "json", "--partition", "second").json
    assert row["consumer"] == "b"
    assert gantt("claim", "show", "b", "-f", "json").json["partition"] == "second"


def test_verify_checks_all_partitions(cluster_of_two, gantt):
    cluster_of_two.claims.claim("a")
    cluster_of_two.claims2.claim("b")
    result = gantt("claim", "verify", "-f", "json")
    assert (result.code, result.json["partition"], result.json["claims"]) == (0, "default, second", {"confirmed": 2})
    assert result.json["epoch"] == {"default": 7, "second": 7}
    cluster_of_two.claims2.problems = ["used of host2 is 3, its claims sum to 2"]
    result = gantt("claim", "verify", "-f", "json")
    assert (result.code, result.json["problems"]) == (1, ["second: used of host2 is 3, its claims sum to 2"])
    assert gantt("claim", "verify", "--partition", "default", "-f", "json").json["clean"]


def test_unknown_partition_is_rejected_with_the_known_ones(cluster_of_two, gantt):
    result = gantt("claim", "verify", "--partition", "third")
    assert (result.code, result.err) == (1, "Unknown partition 'third'; configured here: default, second\n")


def test_acknowledged_epoch_is_recorded(cluster, gantt):
    cluster.scheduler.state["placement"]["default"] = {"acknowledged_epoch": 1}
    result = gantt("partition", "acknowledge", "default", "6")
    assert (result.code, result.err) == (0, "epoch 6 of partition default is acknowledged\n")
    assert cluster.scheduler.state["placement"]["default"] == {"acknowledged_epoch": 6}
    assert cluster.scheduler.writers == ["gantt"]


@pytest.mark.parametrize("epoch", ["8", "0"])
def test_epoch_that_did_not_begin_cannot_be_acknowledged(cluster, gantt, epoch):
    cluster.scheduler.state["placement"]["default"] = {"acknowledged_epoch": 1}
    result = gantt("partition", "acknowledge", "default", epoch)
    assert result.code == 1
    assert f"partition 'default' is in epoch 7 and never had epoch {epoch}" in result.err
    assert cluster.scheduler.state["placement"]["default"] == {"acknowledged_epoch": 1}


def test_only_partitions_with_the_placement_api_are_acknowledged(cluster, gantt):
    assert "'third'" in gantt("partition", "acknowledge", "third", "7").err
    assert gantt("partition", "acknowledge", "default", "7").code == 1
    assert cluster.scheduler.state["placement"] == {}
