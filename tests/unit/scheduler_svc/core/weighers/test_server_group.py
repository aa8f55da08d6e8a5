# SPDX-License-Identifier: Apache-2.0
"""Members of server groups with soft policies."""

import pytest

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.request import DecisionContext
from scheduler_svc.core.weighers.server_group import SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

NODES = {"a/1": node(), "a/2": node(), "b": node()}
MEMBERS = DecisionContext(members={"a/1": 2, "b": 1, "elsewhere": 4})
AFFINITY, ANTI_AFFINITY = GroupPolicy.SOFT_AFFINITY, GroupPolicy.SOFT_ANTI_AFFINITY


@pytest.mark.parametrize(
    ("weigher", "policy", "decision", "expected", "step"),
    [
        (SOFT_AFFINITY, AFFINITY, MEMBERS, [2, 0, 1], 1),
        (SOFT_ANTI_AFFINITY, ANTI_AFFINITY, MEMBERS, [-2, 0, -1], -1),
        (SOFT_AFFINITY, ANTI_AFFINITY, MEMBERS, None, 0),
        (SOFT_ANTI_AFFINITY, GroupPolicy.ANTI_AFFINITY, MEMBERS, None, 0),
        (SOFT_AFFINITY, AFFINITY, DecisionContext(), None, 1),
        (SOFT_AFFINITY, None, MEMBERS, None, 0),
    ],
)
def test_members_count_for_groups_of_the_policy(weigher, policy, decision, expected, step):
    fields = {"group": policy and ClaimGroup("g", policy), "decision": decision}
    assert raw_values(weigher, NODES, **fields) == expected
    assert weigher.step(request(**fields)) == step
