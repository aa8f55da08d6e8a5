# SPDX-License-Identifier: Apache-2.0
"""Providers and allocations of the Placement API in the commands of an operator."""

import uuid

import pytest

SHELF, TRAY, SLOT, POOL, NIC = (str(uuid.UUID(int=number)) for number in range(1, 6))


def api(provider: str) -> str:
    return f"@api/{provider}"


@pytest.fixture
def providers(hosts):
    """A tree of three providers of the API, a pool with a blank in its name, and a provider below an agent's node."""
    trees = {
        SHELF: ("shelf", None, api(SHELF)),
        TRAY: ("tray", api(SHELF), api(SHELF)),
        SLOT: ("slot", api(TRAY), api(SHELF)),
        POOL: ("shared pool", None, api(POOL)),
        NIC: ("host2:eth0", "host2", "host2"),
    }
    for provider, (name, parent, root) in trees.items():
        hosts.node(api(provider), used=3, zone=None, traits=["CUSTOM_FAST"])
        hosts.state["compute"][api(provider)] |= {"owner": "api", "name": name, "parent": parent, "root": root}
    return hosts


@pytest.fixture
def claims(cluster, providers):
    """Claims of the API on a shelf and on an agent's node, and claims of agents."""
    claims = cluster.claims
    claims.claim("vm1", host="@api", allocations={api(SHELF): {"VCPU": 2}, api(POOL): {"CUSTOM_GOLD": 1}})
    claims.claim("vm2", host="@api", allocations={"host1/node1": {"VCPU": 1}})
    claims.claim("vm3", host="host1/node1")
    return claims


def test_list_names_roots_and_their_owner(providers, gantt):
    rows = {row["name"]: row for row in gantt("host", "list", "-f", "json").json}
    assert [name for name, row in rows.items() if row["owner"] == "api"] == ["shelf", "shared pool"]
    assert (rows["shelf"]["state"], rows["shelf"]["enabled"], rows["shelf"]["vcpu_used"]) == (None, None, 9)
    assert (rows["host1/node1"]["owner"], rows["host1/node1"]["state"]) == ("agent", "up")
    table = gantt("host", "list").out
    assert "@api" not in table
    assert "shared pool" in table


def test_no_provider_of_the_api_is_down(providers, gantt):
    rows = gantt("host", "list", "-f", "json", "--down").json
    assert [row["name"] for row in rows] == ["host2", "host3/node1"]


@pytest.mark.parametrize("name", ["shelf", SHELF, SHELF.upper(), api(SHELF)])
def test_show_finds_a_provider_by_name_uuid_and_id(providers, gantt, name):
    columns = gantt("host", "show", name, "-f", "json").json
    assert (columns["name"], columns["owner"], columns["uuid"]) == ("shelf", "api", SHELF)
    assert columns["resources"]["VCPU"] == {"free": 13, "used": 3, "capacity": 16}
    assert columns["traits"] == ["CUSTOM_FAST"]
    assert columns["parent"] is None
    assert [child["name"] for child in columns["below"]] == ["tray", "slot"]


def test_show_of_a_child_names_its_parent_and_what_is_below_it(providers, gantt):
    table = gantt("host", "show", "tray").out
    assert "shelf" in table
    assert api(SHELF) not in table
    columns = gantt("host", "show", "tray", "-f", "json").json
    assert columns["parent"] == api(SHELF)
    assert [child["name"] for child in columns["below"]] == ["slot"]
    assert "below" not in gantt("host", "show", "slot", "-f", "json").json


def test_show_takes_names_that_no_host_can_have(providers, gantt):
    assert gantt("host", "show", "shared pool", "-f", "json").json["uuid"] == POOL


def test_show_of_a_node_lists_what_clients_put_below_it(providers, gantt):
    below = gantt("host", "show", "host2", "-f", "json").json["below"]
    assert [(child["name"], child["owner"]) for child in below] == [("host2:eth0", "api")]
    columns = gantt("host", "show", "host2:eth0", "-f", "json").json
    assert (columns["parent"], "below" in columns) == ("host2", False)


@pytest.mark.parametrize("name", [str(uuid.UUID(int=99)), "@api", "no such", "host9"])
def test_unknown_provider_is_one_line(providers, gantt, name):
    result = gantt("host", "show", name)
    assert result.code == 1
    assert len(result.err.splitlines()) == 1


def test_claims_are_listed_with_names_and_owner(claims, gantt):
    rows = {row["consumer"]: row for row in gantt("claim", "list", "-f", "json").json}
    assert {name: row["owner"] for name, row in rows.items()} == {"vm1": "api", "vm2": "api", "vm3": "agent"}
    assert rows["vm1"]["host"] == "@api"
    table = gantt("claim", "list").out
    assert "shelf, shared pool" in table
    assert "@api" not in table


@pytest.mark.parametrize(
    ("host", "consumers"),
    [
        ("shelf", ["vm1"]),
        ("shared pool", ["vm1"]),
        (SHELF, ["vm1"]),
        ("tray", []),
        ("host1", ["vm3", "vm2"]),
        ("host1/node1", ["vm3", "vm2"]),
        ("host1/node2", []),
        ("host9", []),
        ("@api", ["vm1", "vm2"]),
    ],
)
def test_claims_of_a_provider_are_listed(claims, gantt, host, consumers):
    rows = gantt("claim", "list", "--host", host, "-f", "json").json
    assert [row["consumer"] for row in rows] == consumers


def test_claim_is_shown_with_names(claims, gantt):
    table = gantt("claim", "show", "vm1").out
    assert "shelf: 2 VCPU" in table
    assert "shared pool: 1 CUSTOM_GOLD" in table
    columns = gantt("claim", "show", "vm1", "-f", "json").json
    assert columns["owner"] == "api"
    assert columns["allocations"] == {api(SHELF): {"VCPU": 2}, api(POOL): {"CUSTOM_GOLD": 1}}
    assert gantt("claim", "show", "vm3", "-f", "json").json["owner"] == "agent"


def test_provider_that_was_deleted_keeps_its_id(claims, providers, gantt):
    del providers.state["compute"][api(SHELF)]
    assert f"{api(SHELF)}: 2 VCPU" in gantt("claim", "show", "vm1").out


def test_many_providers_are_named_too(claims, providers, gantt):
    allocations = {}
    for number in range(100, 130):
        provider = api(str(uuid.UUID(int=number)))
        providers.node(provider)
        providers.state["compute"][provider] |= {"owner": "api", "name": f"p{number}", "parent": None, "root": provider}
        allocations[provider] = {"VCPU": 1}
    claims.claim("vm9", host="@api", allocations=allocations)
    table = gantt("claim", "show", "vm9").out
    assert all(f"p{number}: 1 VCPU" in table for number in range(100, 130))


def test_verify_names_providers(claims, gantt):
    claims.problems.append(f"provider {api(SHELF)}: 17 VCPU are stored, 16 are held")
    assert "provider shelf: 17 VCPU are stored" in gantt("claim", "verify").out
    assert gantt("claim", "verify", "-f", "json").json["problems"] == claims.problems


def test_explain_names_providers(claims, cluster, gantt):
    cluster.scheduler.decisions["req-1"] = {
        "best": [{"name": api(SHELF), "score": 1.0, "weights": {}}],
        "verdicts": [{"consumer": "vm1", "answer": "selected", "host": api(SHELF), "tried": [[api(POOL), "FULL"]]}],
        "reasons": {},
    }
    table = gantt("explain", "req-1").out
    assert "shelf: 1.000" in table
    assert "vm1: selected on shelf (tried shared pool FULL)" in table
    assert gantt("explain", "req-1", "-f", "json").json["best"][0]["name"] == api(SHELF)
