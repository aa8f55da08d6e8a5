# SPDX-License-Identifier: Apache-2.0
"""``gantt partition``, and what other commands do where there are several partitions."""

import pytest


@pytest.fixture
def two(cluster):
    for name in ("host1", "host2"):
        cluster.scheduler.service(name)
        cluster.scheduler.node(f"{name}/node1")
    cluster.add_partition("host2")
    return cluster


def test_partitions_are_listed_with_what_is_in_them(two, gantt):
    two.scheduler.away = ["second"]
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
def test_hosts_and_services_are_listed_with_their_partition(two, gantt, command):
    rows = gantt(*command, "-f", "json").json
    assert [row["partition"] for row in rows] == ["default", "second"]
    (row,) = gantt(*command, "-f", "json", "--partition", "second").json
    assert (row.get("name") or row["host"]).startswith("host2")


def test_a_host_is_shown_with_its_partition(two, gantt):
    assert gantt("host", "show", "host2", "-f", "json").json["partition"] == "second"


def test_claims_are_listed_and_found_in_all_partitions(two, gantt):
    two.claims.claim("a")
    two.claims2.claim("b", host="host2/node1")
    rows = gantt("claim", "list", "-f", "json").json
    assert [(row["consumer"], row["partition"]) for row in rows] == [("a", "default"), ("b", "second")]
    (row,) = gantt("claim", "list", "-f", "json", "--partition", "second").json
    assert row["consumer"] == "b"
    assert gantt("claim", "show", "b", "-f", "json").json["partition"] == "second"


def test_verify_speaks_of_each_partition(two, gantt):
    two.claims.claim("a")
    two.claims2.claim("b")
    done = gantt("claim", "verify", "-f", "json")
    assert (done.code, done.json["partition"], done.json["claims"]) == (0, "default, second", {"confirmed": 2})
    assert done.json["epoch"] == {"default": 7, "second": 7}
    two.claims2.problems = ["used of host2 is 3, its claims sum to 2"]
    done = gantt("claim", "verify", "-f", "json")
    assert (done.code, done.json["problems"]) == (1, ["second: used of host2 is 3, its claims sum to 2"])
    assert gantt("claim", "verify", "--partition", "default", "-f", "json").json["clean"]


def test_a_partition_that_there_is_not_is_told_with_those_that_are(two, gantt):
    done = gantt("claim", "verify", "--partition", "third")
    assert (done.code, done.err) == (1, "There is no partition 'third' here; configured: default, second\n")


def test_a_host_is_fenced_in_its_own_partition(two, gantt):
    two.claims2.claim("b", host="host2/node1")
    assert gantt("host", "fence", "host2", "--yes").code == 0
    assert (two.claims.fenced, two.claims2.fenced) == ([], ["host2"])


def test_a_host_is_removed(two, gantt):
    assert gantt("host", "remove", "host2").code == 0
    assert two.scheduler.removed == ["host2"]
