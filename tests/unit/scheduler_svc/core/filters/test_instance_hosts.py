# SPDX-License-Identifier: Apache-2.0
"""Hints that name instances."""

import pytest

from scheduler_svc.core.request import DecisionContext
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = make_nodes("h1/a", "h1/b", "h2", "h3")
ALL = list(NODES)
LOCATED = DecisionContext(instance_hosts={"u1": "h1/a", "u2": "h2"})


@pytest.mark.parametrize(
    ("uuids", "same", "different"),
    [
        ("u1", ["h1/a"], ["h1/b", "h2", "h3"]),
        (["u1", "u2", "u9"], ["h1/a", "h2"], ["h1/b", "h3"]),
        (["u9"], [], ALL),
        ([], ALL, ALL),
    ],
)
def test_same_host_and_different_host_hints(uuids, same, different):
    assert passing_hosts("SameHostFilter", NODES, hints={"same_host": uuids}, decision=LOCATED) == same
    assert passing_hosts("DifferentHostFilter", NODES, hints={"different_host": uuids}, decision=LOCATED) == different
