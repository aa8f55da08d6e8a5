# SPDX-License-Identifier: Apache-2.0
"""The plan of the boots and the faults found after them."""

from types import SimpleNamespace

import pytest

from devstack.lab.boot.scenario import BLOCKS, BootPlan, find_faults


@pytest.mark.parametrize(("singles", "size"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_single_servers_are_divided_into_equal_blocks(singles, size):
    plan = BootPlan(singles, orders=2, batch=10)
    assert plan.block_size == size
    assert plan.servers == size * (BLOCKS + 1) + 2 * 20


def result(statuses, unclaimed=(), verify=None):
    instances = [SimpleNamespace(uuid=uuid, status=status, reason="why") for uuid, status in statuses.items()]
    return SimpleNamespace(instances=instances, unclaimed_uuids=list(unclaimed), verify=verify)


def test_clean_run_has_no_faults():
    assert find_faults(result({"a": "ACTIVE"})) == []
    assert find_faults(result({"a": "ACTIVE"}, verify=SimpleNamespace(clean=True))) == []


def test_each_fault_is_one_sentence():
    verify = SimpleNamespace(clean=False, problems=["used of h is 3"], excess=[{"provider": "h"}])
    assert find_faults(result({"a": "ACTIVE", "b": "ERROR"}, ["a"], verify)) == [
        "b is ERROR: why",
        "a runs without a confirmed claim",
        "used of h is 3",
        "{'provider': 'h'}",
    ]
