# SPDX-License-Identifier: Apache-2.0
"""``gantt host`` and ``gantt service``."""

import pytest


def test_list_joins_nodes_with_their_service_host(hosts, gantt):
    rows = {row["name"]: row for row in gantt("host", "list", "-f", "json").json}
    assert list(rows) == ["host1/node1", "host1/node2", "host2", "host3/node1"]
    first = rows["host1/node1"]
    assert (first["state"], first["enabled"], first["zone"]) == ("up", True, "az1")
    assert (first["vcpu_free"], first["vcpu_used"], first["disk_gb_free"]) == (10, 6, 0)
    assert first["last_report"].startswith("2023-11-14T22:13:20")
    assert (rows["host2"]["enabled"], rows["host3/node1"]["state"]) == (False, "down")


def test_list_sums_the_tree_of_each_node(hosts, gantt):
    alone = next(row for row in gantt("host", "list", "-f", "json").json if row["name"] == "host2")
    hosts.node("host2/numa0")
    hosts.state["compute"]["host2/numa0"] |= {"parent": "host2", "root": "host2"}
    cell = gantt("host", "show", "host2/numa0", "-f", "json").json["resources"]["VCPU"]
    row = next(row for row in gantt("host", "list", "-f", "json").json if row["name"] == "host2")
    assert row["vcpu_free"] == alone["vcpu_free"] + cell["free"]
    assert row["vcpu_used"] == alone["vcpu_used"] + cell["used"]
    assert cell["free"] > 0


def test_list_is_filtered_by_options(hosts, gantt):
    assert [row["name"] for row in gantt("host", "list", "-f", "json", "--az", "az2").json] == ["host2"]
    assert [row["name"] for row in gantt("host", "list", "-f", "json", "--down").json] == ["host2", "host3/node1"]


def test_duplicate_identity_is_a_state_that_excludes_the_host_until_it_is_enabled(hosts, gantt):
    hosts.state["service"]["host1"]["duplicate_ms"] = 1_700_000_000_000
    rows = {row["name"]: row["state"] for row in gantt("host", "list", "-f", "json", "--down").json}
    assert rows == dict.fromkeys(("host1/node1", "host1/node2"), "duplicate identity") | {
        "host2": "up",
        "host3/node1": "down",
    }
    assert gantt("host", "show", "host1", "-f", "json").json["state"] == "duplicate identity"
    gantt("host", "enable", "host1")
    assert hosts.state["service"]["host1"].get("duplicate_ms") is None
    assert gantt("host", "show", "host1", "-f", "json").json["state"] == "up"


def test_host_whose_agent_refuses_guests_is_shown_as_disabled_with_the_reason(hosts, gantt):
    hosts.state["service"]["host1"] |= {"refusal": "it was renamed", "host_uuid": "the uuid"}
    rows = {row["name"]: row["enabled"] for row in gantt("host", "list", "-f", "json", "--down").json}
    assert rows["host1/node1"] is False
    shown = gantt("host", "show", "host1", "-f", "json").json
    assert (shown["enabled"], shown["disabled_reason"], shown["host_uuid"]) == (False, "it was renamed", "the uuid")


def test_too_old_agent_is_a_state_that_excludes_the_host(hosts, gantt):
    hosts.state["service"]["host1"]["too_old"] = True
    rows = {row["name"]: row["state"] for row in gantt("host", "list", "-f", "json", "--down").json}
    assert rows["host1/node1"] == "too old"
    services = {row["host"]: row["state"] for row in gantt("service", "list", "-f", "json").json}
    assert (services["host1"], services["host2"]) == ("too old", "up")


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
    assert (result.code, result.err) == (1, f"Unknown host or node {name!r}; see 'gantt host list'\n")
