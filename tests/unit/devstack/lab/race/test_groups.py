# SPDX-License-Identifier: Apache-2.0
"""Server groups of lab.sh race: their members, the rows that they add, and what violates a policy."""

import itertools
from collections import Counter

import pytest

from devstack.lab import hosts
from devstack.lab.race import command, groups
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Claim, ClaimGroup
from tests.support import asking

SERVERS = list(itertools.islice(hosts.stream(7), 100))
TOGETHER, APART = ClaimGroup("g", GroupPolicy.AFFINITY), ClaimGroup("h", GroupPolicy.ANTI_AFFINITY, 2)


def claim(host, group=None):
    return Claim("vm", 1, 1, "INSTANCE", "p", "u", "prepared", host, {}, "req-1", 0, group=group)


@pytest.mark.parametrize(("share", "members"), [(0.0, 0), (0.4, 40), (1.0, 100)])
def test_a_share_of_the_servers_are_members_of_groups_of_both_policies(share, members):
    grouped = groups.with_groups(SERVERS, share)
    by_group = Counter(server.request.group for server in grouped if server.request.group)
    assert set(by_group.values()) <= {groups.GROUP_SIZE}
    assert by_group.total() == members
    assert {group.policy for group in by_group} == (set(groups.POLICIES) if share else set())
    assert [server.consumer for server in grouped] == [server.consumer for server in SERVERS]


def test_the_amounts_tell_members_from_other_servers():
    for server in groups.with_groups(SERVERS, 0.4):
        assert groups.is_member(server.request.resources) == (server.request.group is not None)


@pytest.mark.parametrize(
    ("claims", "violations"),
    [
        ([claim("a"), claim("a")], 0),
        ([claim("a", TOGETHER), claim("a", TOGETHER)], 0),
        ([claim("a", TOGETHER), claim("b", TOGETHER)], 1),
        ([claim("a", APART), claim("a", APART), claim("b", APART)], 0),
        ([claim("a", APART), claim("a", APART), claim("a", APART)], 1),
        ([claim("a", TOGETHER), claim("b", TOGETHER), *(claim("a", APART) for _ in range(3))], 2),
    ],
)
def test_members_where_their_policy_forbids_are_violations(claims, violations):
    assert groups.count_violations(groups.members_by_host(claims)) == violations


def test_every_server_of_a_race_with_groups_is_placed_or_refused():
    rows = {
        row["name"]: row
        for row in asking.run_json("race", "--workers=2", "--callers=4", "--hosts=12", "--fill=0.95", "--groups=0.5")
    }
    assert rows["server groups whose policy does not hold"]["ratio"] == 0
    assert rows["server groups whose policy does not hold"]["groups"] > 0
    refused = (
        rows["servers refused beyond those of a single worker"]["refused"]
        + rows["members of affinity groups refused beyond those of a single worker"]["refused"]
    )
    assert rows["overcommit"]["claims"] + refused == len(command.fill(hosts.make_nodes(12), 0.95))
