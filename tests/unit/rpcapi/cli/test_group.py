# SPDX-License-Identifier: Apache-2.0
"""``gantt group``, and moves of all members of a group."""

import pytest

from rpcapi import errors
from rpcapi.endpoint import expose
from tests.unit.rpcapi.cli.test_server import add_instances

AFFINITY = {"group_id": "g", "group_policy": "affinity"}
APART = {"group_id": "h", "group_policy": "anti-affinity"}


@pytest.fixture
def groups(cluster):
    """Affinity group g with two members on host1/node1, and anti-affinity group h with one on each of two hosts."""
    add_instances(cluster, "a", "b", "c", "d")
    cluster.scheduler.group("g")
    cluster.scheduler.group("h", "anti-affinity", "other", max_per_host=2)
    cluster.scheduler.group("i")
    for name in "ab":
        cluster.claims.claim(name, **AFFINITY)
    cluster.claims.claim("c", **APART)
    cluster.claims.claim("d", host="host2/node1", **APART)
    cluster.claims.claim("e")
    return cluster


def test_list_shows_policy_state_and_hosts(groups, gantt):
    rows = gantt("group", "list", "-f", "json").json
    assert [tuple(row.values()) for row in rows] == [
        ("g", "g", "default", "affinity", "ok", 2, {"host1/node1": 2}),
        ("h", "h", "other", "anti-affinity", "ok", 2, {"host1/node1": 1, "host2/node1": 1}),
        ("i", "i", "default", "affinity", "ok", 0, {}),
    ]


def test_group_is_created_in_the_callers_project_and_deleted_by_its_name(cluster, gantt):
    created = gantt("group", "create", "web", "--policy", "anti-affinity", "--max-per-host", "2", "-f", "json").json
    (group,) = cluster.scheduler.groups.values()
    assert (group.id, group.name, group.project) == (created["group"], "web", "default")
    assert (group.policy, group.max_per_host) == ("anti-affinity", 2)
    assert gantt("boot", "--flavor", "m1.tiny", "--group", "web").code == 0
    assert cluster.conductor.builds[0][0].group_id == group.id
    assert gantt("group", "delete", "web").code == 0
    assert cluster.scheduler.groups == {}


def test_name_of_several_groups_is_refused(cluster, gantt):
    for _ in range(2):
        gantt("group", "create", "web", "--policy", "affinity")
    assert gantt("group", "show", "web").err == "Invalid request: 2 server groups are named web: use an id\n"


def test_tenant_sees_its_servers_in_a_group(groups, gantt, monkeypatch):
    """Given a tenant, who may not read claims, with an ended and a failed member."""

    def refuse(_claims, _ctxt, **_values):
        raise errors.CallerRefused(caller="a client", service="claims", method="list_claims", why="it may not")

    monkeypatch.setattr(type(groups.claims), "list_claims", expose(refuse))
    add_instances(groups, "a", group_id="g")
    add_instances(groups, "b", group_id="g", host="host2/node1", status="VERIFY_RESIZE")
    add_instances(groups, "c", group_id="g", status="ERROR")
    add_instances(groups, "d", group_id="g", status="DELETED")
    add_instances(groups, "e", group_id="g", host=None, status="SCHEDULING")
    group = gantt("group", "show", "g", "-f", "json").json
    assert (group["state"], group["hosts"]) == ("split", {"host1/node1": 1, "host2/node1": 1})
    assert group["members"] == ["a on host1/node1, ACTIVE", "b on host2/node1, VERIFY_RESIZE"]
    assert gantt("server", "migrate", "--group", "g").err.startswith("2 to be migrated")


def test_affinity_group_on_two_hosts_is_split_and_one_that_moves_is_moving(groups, gantt):
    groups.claims.source("a", host="host1/node1", **AFFINITY)
    groups.claims.claim("a", host="host2/node1", **AFFINITY)
    groups.claims.claim("b", host="host2/node1", **AFFINITY)
    group = gantt("group", "show", "g", "-f", "json").json
    assert (group["state"], group["hosts"]) == ("moving", {"host2/node1": 2})
    assert (len(group["members"]), group["sources"]) == (2, ["a on host1/node1, confirmed"])
    groups.claims.claim("b", **AFFINITY)
    group = gantt("group", "show", "g", "-f", "json").json
    assert (group["state"], group["hosts"]) == ("split", {"host1/node1": 1, "host2/node1": 1})


def test_member_of_any_consumer_type_is_shown(groups, gantt):
    groups.claims.claim("a", type="MIGRATION", **AFFINITY)
    group = gantt("group", "show", "g", "-f", "json").json
    assert (group["state"], len(group["members"]), group["sources"]) == ("ok", 2, [])


def test_unknown_group_is_reported(groups, gantt):
    result = gantt("group", "show", "x")
    assert (result.code, result.err) == (1, "Server group x was not found\n")


@pytest.mark.parametrize(("command", "method"), [("migrate", "migrate"), ("live-migrate", "live-migrate")])
def test_all_members_of_a_group_are_moved_by_one_call(groups, gantt, command, method):
    assert gantt("server", command, "--group", "g").err.startswith("2 to be migrated")
    assert [(moved, uuids) for moved, uuids, _values in groups.conductor.moves] == [(method, ["a", "b"])]


def test_group_without_members_and_a_call_without_servers_are_refused(groups, gantt):
    result = gantt("server", "migrate", "--group", "i")
    assert (result.code, result.err) == (1, "A member of server group i was not found\n")
    result = gantt("server", "migrate")
    assert (result.code, result.err) == (1, "name servers, or a server group with --group\n")
    assert groups.conductor.moves == []
