# SPDX-License-Identifier: Apache-2.0
"""The policies of server groups."""

import pytest

from scheduler_svc.core.request import DecisionContext
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = make_nodes("a/1", "a/2", "b/1")


@pytest.mark.parametrize(
    ("name", "decision", "expected"),
    [
        ("ServerGroupAntiAffinityFilter", DecisionContext(excluded_hosts=("a/1", "b/1")), ["a/2"]),
        ("ServerGroupAntiAffinityFilter", DecisionContext(group_hosts=("a/1",)), list(NODES)),
        ("ServerGroupAntiAffinityFilter", DecisionContext(), list(NODES)),
        ("ServerGroupAffinityFilter", DecisionContext(group_hosts=("a/2",)), ["a/2"]),
        ("ServerGroupAffinityFilter", DecisionContext(excluded_hosts=("a/1",)), list(NODES)),
        ("ServerGroupAffinityFilter", DecisionContext(), list(NODES)),
    ],
)
def test_group_policy_applies_to_reported_hosts(name, decision, expected):
    assert passing_hosts(name, NODES, decision=decision) == expected
