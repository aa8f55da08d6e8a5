# SPDX-License-Identifier: Apache-2.0
"""``gantt group``, and moves of all members of a group."""

import pytest

from tests.unit.rpcapi.cli.test_server import add_instances

AFFINITY = {"group_id": "g", "group_policy": "affinity"}
APART = {"group_id": "h", "group_policy": "anti-affinity"}


@pytest.fixture
def groups(cluster):
    """Affinity group g with two members on host1/node1, and anti-affinity group h with one on each of two hosts."""
    add_instances(cluster, "a", "b", "c", "d")
    for name in "ab":
        cluster.claims.claim(name, **AFFINITY)
    cluster.claims.claim("c", **APART)
    cluster.claims.claim("d", host="host2/node1", **APART)
    cluster.claims.claim("e")
    return cluster


def test_list_shows_policy_state_and_hosts(groups, gantt):
    rows = gantt("group", "list", "-f", "json").json
    assert [tuple(row.values()) for row in rows] == [
        ("g", "affinity", "ok", 2, {"host1/node1": 2}),
        ("h", "anti-affinity", "ok", 2, {"host1/node1": 1, "host2/node1": 1}),
    ]


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


def test_unknown_group_is_reported(groups, gantt):
    result = gantt("group", "show", "x")
    assert (result.code, result.err) == (1, "A member of server group x is not known\n")


@pytest.mark.parametrize(("command", "method"), [("migrate", "migrate"), ("live-migrate", "live-migrate")])
def test_all_members_of_a_group_are_moved_by_one_call(groups, gantt, command, method):
    assert gantt("server", command, "--group", "g").err.startswith("2 to be migrated")
    assert [(moved, uuids) for moved, uuids, _values in groups.conductor.moves] == [(method, ["a", "b"])]


def test_group_without_members_and_a_call_without_servers_are_refused(groups, gantt):
    result = gantt("server", "migrate", "--group", "x")
    assert (result.code, result.err) == (1, "A member of server group x is not known\n")
    result = gantt("server", "migrate")
    assert (result.code, result.err) == (1, "name servers, or a server group with --group\n")
    assert groups.conductor.moves == []
