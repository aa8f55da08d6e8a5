# SPDX-License-Identifier: Apache-2.0
"""``gantt host`` and ``gantt service``."""

import pytest


@pytest.fixture
def hosts(cluster):
    cluster.scheduler.service("host1")
    cluster.scheduler.service("host2", enabled=False, disabled_reason="broken fan")
    cluster.scheduler.service("host3", alive=False)
    cluster.scheduler.service("gantt-conductor@c1", binary="gantt-conductor")
    cluster.scheduler.node("host1/node1", used=6, traits=["CUSTOM_A"])
    cluster.scheduler.node("host1/node2")
    cluster.scheduler.node("host2", zone="az2")
    cluster.scheduler.node("host3/node1")
    return cluster.scheduler


def test_list_joins_nodes_with_their_service_host(hosts, gantt):
    rows = {row["name"]: row for row in gantt("host", "list", "-f", "json").json}
    assert list(rows) == ["host1/node1", "host1/node2", "host2", "host3/node1"]
    first = rows["host1/node1"]
    assert (first["state"], first["enabled"], first["zone"]) == ("up", True, "az1")
    assert (first["vcpu_free"], first["vcpu_used"], first["disk_gb_free"]) == (10, 6, 0)
    assert first["last_report"].startswith("2023-11-14T22:13:20")
    assert (rows["host2"]["enabled"], rows["host3/node1"]["state"]) == (False, "down")


def test_list_is_filtered_by_options(hosts, gantt):
    assert [row["name"] for row in gantt("host", "list", "-f", "json", "--az", "az2").json] == ["host2"]
    assert [row["name"] for row in gantt("host", "list", "-f", "json", "--down").json] == ["host2", "host3/node1"]


def test_list_by_zone_respects_zones_of_aggregates(hosts, gantt):
    aggregates = hosts.state["aggregate"]
    aggregates["hall"] = {"hosts": ["host1"], "metadata": {"availability_zone": "az9"}}
    aggregates["row"] = {"hosts": ["host1/node2"], "metadata": {"availability_zone": "az8"}}
    aggregates["former"] = {"hosts": ["host2"], "deleted": True, "metadata": {"availability_zone": "az9"}}

    def zones_of_nodes(*options):
        return {row["name"]: row["zone"] for row in gantt("host", "list", "-f", "json", *options).json}

    assert zones_of_nodes("--az", "az9") == {"host1/node1": "az9", "host1/node2": "az8, az9"}
    assert zones_of_nodes("--az", "az8") == {"host1/node2": "az8, az9"}
    assert zones_of_nodes("--az", "az1") == {"host3/node1": "az1"}
    assert gantt("host", "show", "host1/node1", "-f", "json").json["zone"] == "az9"
    assert "host1/node2 [az8, az9]:" in gantt("host", "show", "host1").out


def test_show_node_lists_all_resource_classes(hosts, gantt):
    columns = gantt("host", "show", "host1/node1", "-f", "json").json
    assert columns["resources"]["CUSTOM_GOLD"] == {"free": 4, "used": 0, "capacity": 4}
    assert (columns["node"], columns["binary"], columns["traits"]) == ("host1/node1", "gantt-compute", ["CUSTOM_A"])
    assert "VCPU: 10 free, 6 of 16 used" in gantt("host", "show", "host1/node1").out


def test_show_service_host_lists_only_its_nodes(hosts, gantt):
    hosts.node("host10/node1")
    columns = gantt("host", "show", "host1", "-f", "json").json
    assert [node["name"] for node in columns["nodes"]] == ["host1/node1", "host1/node2"]


def test_child_providers_are_shown_with_their_node_and_not_listed(hosts, gantt):
    for name, parent in (("host2/numa0", "host2"), ("host2/numa0/gpu0", "host2/numa0")):
        hosts.node(name)
        hosts.state["compute"][name]["parent"] = parent
    assert not [row for row in gantt("host", "list", "-f", "json").json if "numa0" in row["name"]]
    columns = gantt("host", "show", "host2", "-f", "json").json
    assert columns["node"] == "host2"
    assert [provider["name"] for provider in columns["below"]] == ["host2/numa0", "host2/numa0/gpu0"]
    assert "host2/numa0/gpu0: 0/4 CUSTOM_GOLD, 0/16 VCPU" in gantt("host", "show", "host2").out
    assert gantt("host", "show", "host2/numa0", "-f", "json").json["node"] == "host2/numa0"


def test_show_node_lists_cpus_and_pages_of_numa_cells(hosts, gantt):
    assert "numa_cells" not in gantt("host", "show", "host2", "-f", "json").json
    cells = [
        {"id": 0, "pinned": "1,9", "shared": "0,8", "pages": {"2048": [512, 4]}},
        {"id": 1, "pinned": "", "shared": "4,12", "pages": {}},
    ]
    hosts.state["compute"]["host2"]["numa"] = cells
    assert gantt("host", "show", "host2", "-f", "json").json["numa_cells"] == cells
    columns = gantt("host", "show", "host2").out
    assert "0: pinned CPUs 1,9, shared CPUs 0,8, 4/512 pages of 2048 kB" in columns
    assert "1: pinned CPUs -, shared CPUs 4,12" in columns


@pytest.mark.parametrize("name", ["host9", "host1/node9"])
def test_unknown_host_is_one_line(hosts, gantt, name):
    result = gantt("host", "show", name)
    assert (result.code, result.err) == (1, f"No host or node named {name!r} is known; see 'gantt host list'\n")


def test_disable_and_enable_retry_version_conflicts(hosts, gantt):
    hosts.conflicts = 2
    assert gantt("host", "disable", "host1", "--reason", "new disk").code == 0
    assert hosts.state["service"]["host1"]["disabled_reason"] == "new disk"
    assert hosts.state["service"]["host1"]["enabled"] is False
    assert gantt("host", "enable", "host1").code == 0
    assert hosts.state["service"]["host1"]["disabled_reason"] is None
    assert hosts.state["service"]["host1"]["enabled"] is True
    assert set(hosts.writers) == {"gantt"}


def test_enable_fails_after_too_many_version_conflicts(hosts, gantt):
    hosts.conflicts = 99
    result = gantt("host", "enable", "host1")
    assert result.code == 1
    assert "read it again, then update" in result.err


def test_disable_requires_a_reason(hosts, gantt):
    assert gantt("host", "disable", "host1").code == 2


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (("disable", "--reason", "fan"), "disabled"),
        (("enable",), "enabled"),
        (("fence", "--yes"), "fenced"),
        (("remove",), "removed"),
    ],
)
def test_command_on_a_whole_host_rejects_a_node(hosts, gantt, command, state):
    result = gantt("host", *command, "host1/node1")
    message = f"host1/node1 is a node; only a service host with all its nodes can be {state}: host1\n"
    assert (result.code, result.err) == (1, message)
    assert hosts.state["service"]["host1"]["enabled"] is True and hosts.removed == []


def test_fence_without_yes_explains_and_does_nothing(cluster, gantt):
    cluster.scheduler.service("host1")
    cluster.claims.claim("a", host="host1/node1")
    result = gantt("host", "fence", "host1")
    assert result.code == 1 and cluster.claims.fenced == []
    assert result.err == (
        "Fencing host1 means: the machine is off or isolated; its claims end; its guests are lost to gantt. "
        "Use --yes to confirm\n"
    )
    result = gantt("host", "fence", "host1", "--yes")
    assert (result.code, cluster.claims.fenced) == (0, ["host1"])
    assert "host1 is fenced: 1 claims ended" in result.err


def test_fence_of_an_unknown_host_is_one_line(cluster, gantt):
    result = gantt("host", "fence", "host9", "--yes")
    assert (result.code, result.err) == (1, "No host or node named 'host9' is known; see 'gantt host list'\n")


def test_services_of_all_binaries_are_listed(hosts, gantt):
    rows = gantt("service", "list", "-f", "json").json
    assert [(row["binary"], row["host"], row["state"]) for row in rows] == [
        ("gantt-compute", "host1", "up"),
        ("gantt-compute", "host2", "up"),
        ("gantt-compute", "host3", "down"),
        ("gantt-conductor", "c1", "up"),
    ]
    assert rows[1]["disabled_reason"] == "broken fan"
