# SPDX-License-Identifier: Apache-2.0
"""Hosts that requests force or exclude, hints that name instances, and the policies of server groups."""

import pytest

from scheduler_svc.core.request import DecisionContext
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = make_nodes("a/1", "a/2", "b/1", "c/1")
ALL = list(NODES)
LOCATED = DecisionContext(instance_hosts={"u1": "a/1", "u2": "b/1"})


def test_every_host_is_accepted():
    assert passing_hosts("AllHostsFilter", make_nodes("a", "b"), availability_zone="az9") == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), ALL), (("a/1",), ["a/1"]), (("a", "c/1"), ["a/1", "a/2", "c/1"]), (("nowhere",), [])],
)
def test_only_forced_nodes_and_service_hosts_are_accepted(names, expected):
    assert passing_hosts("ForceHostsFilter", NODES, force_hosts=names) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), ALL), (("a/1", "b"), ["a/2", "c/1"]), (("nowhere",), ALL), (("a", "b", "c"), [])],
)
def test_ignored_nodes_and_service_hosts_are_rejected(names, expected):
    assert passing_hosts("IgnoreHostsFilter", NODES, ignore_hosts=names) == expected


@pytest.mark.parametrize(
    ("uuids", "same", "different"),
    [
        ("u1", ["a/1"], ["a/2", "b/1", "c/1"]),
        (["u1", "u2", "u9"], ["a/1", "b/1"], ["a/2", "c/1"]),
        (["u9"], [], ALL),
        ([], ALL, ALL),
    ],
)
def test_same_host_and_different_host_hints(uuids, same, different):
    assert passing_hosts("SameHostFilter", NODES, hints={"same_host": uuids}, decision=LOCATED) == same
    assert passing_hosts("DifferentHostFilter", NODES, hints={"different_host": uuids}, decision=LOCATED) == different


@pytest.mark.parametrize(
    ("name", "decision", "expected"),
    [
        ("ServerGroupAntiAffinityFilter", DecisionContext(excluded_hosts=("a/1", "b/1")), ["a/2", "c/1"]),
        ("ServerGroupAntiAffinityFilter", DecisionContext(group_hosts=("a/1",)), ALL),
        ("ServerGroupAntiAffinityFilter", DecisionContext(), ALL),
        ("ServerGroupAffinityFilter", DecisionContext(group_hosts=("a/2",)), ["a/2"]),
        ("ServerGroupAffinityFilter", DecisionContext(excluded_hosts=("a/1",)), ALL),
        ("ServerGroupAffinityFilter", DecisionContext(), ALL),
    ],
)
def test_group_policy_applies_to_reported_hosts(name, decision, expected):
    assert passing_hosts(name, NODES, decision=decision) == expected
