# SPDX-License-Identifier: Apache-2.0
"""Server groups: members that are asked for one by one, at the same time, and in one request."""

from collections.abc import Callable

import pytest

from devstack.nova.cloud import NovaCloud
from tests.nova.groups import MakeGroup, at_the_same_time, in_one_request, members_by_host, one_by_one

PER_HOST = 2

Boot = Callable[[NovaCloud, str, int], list[str]]


WAYS = [one_by_one, at_the_same_time, in_one_request]


def _require_serial(cloud: NovaCloud, way: Boot) -> None:
    if way is at_the_same_time and cloud.size.scheduler != "gantt":
        pytest.skip("nova-scheduler decides about two members of a group without knowing of each other")


def _counts(cloud: NovaCloud) -> list[int]:
    """Return the numbers of servers on the hosts that have any, the largest first."""
    return sorted(members_by_host(cloud).values(), reverse=True)


@pytest.mark.parametrize("way", WAYS)
def test_members_that_repel_each_other_fill_the_hosts_once(cloud: NovaCloud, make_group: MakeGroup, way: Boot) -> None:
    _require_serial(cloud, way)
    group, count = make_group("anti-affinity"), cloud.size.computes
    assert way(cloud, group, count) == ["ACTIVE"] * count
    assert _counts(cloud) == [1] * count
    assert one_by_one(cloud, group, 1) == ["ERROR"]


@pytest.mark.parametrize("way", WAYS)
def test_members_that_attract_each_other_share_a_host(cloud: NovaCloud, make_group: MakeGroup, way: Boot) -> None:
    _require_serial(cloud, way)
    assert way(cloud, make_group("affinity"), 4) == ["ACTIVE"] * 4
    assert _counts(cloud) == [4]


@pytest.mark.parametrize("way", WAYS)
def test_hosts_have_no_more_members_than_the_rule_says(cloud: NovaCloud, make_group: MakeGroup, way: Boot) -> None:
    _require_serial(cloud, way)
    group, count = make_group("anti-affinity", max_server_per_host=PER_HOST), PER_HOST * cloud.size.computes
    assert way(cloud, group, count) == ["ACTIVE"] * count
    assert _counts(cloud) == [PER_HOST] * cloud.size.computes
    assert one_by_one(cloud, group, 1) == ["ERROR"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["anti-affinity", "affinity"])
def test_soft_policies_refuse_nobody(cloud: NovaCloud, make_group: MakeGroup, way: Boot, policy: str) -> None:
    count = cloud.size.computes + 1
    assert way(cloud, make_group(f"soft-{policy}"), count) == ["ACTIVE"] * count
    if way is at_the_same_time:
        return
    # With Nova's default weighers, of both schedulers, members on a host do not outweigh all others: test_options.py.
    assert _counts(cloud) == [2, *[1] * (count - 2)]


def test_request_for_more_members_than_hosts_gets_none(cloud: NovaCloud, make_group: MakeGroup) -> None:
    count = cloud.size.computes + 1
    assert in_one_request(cloud, make_group("anti-affinity"), count) == ["ERROR"] * count
    assert _counts(cloud) == []
