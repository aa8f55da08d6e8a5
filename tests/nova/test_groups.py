# SPDX-License-Identifier: Apache-2.0
"""Server groups: members that are asked for one by one, at the same time, and in one request."""

import pytest

from tests.nova.groups import Boot, MakeGroup, at_the_same_time, in_one_request, members_by_host, one_by_one
from tests.support.nova.checked_cloud import CheckedCloud

PER_HOST = 2


WAYS = [one_by_one, at_the_same_time, in_one_request]


def _require_serial(cloud: CheckedCloud, way: Boot) -> None:
    if way is at_the_same_time and cloud.size.scheduler != "gantt":
        pytest.skip("nova-scheduler decides about two members of a group without knowing of each other")


def _counts(cloud: CheckedCloud) -> list[int]:
    """Return the numbers of servers on the hosts that have any, the largest first."""
    return sorted(members_by_host(cloud).values(), reverse=True)


@pytest.mark.parametrize("way", WAYS)
def test_members_that_repel_each_other_fill_the_hosts_once(
    cloud: CheckedCloud, make_group: MakeGroup, way: Boot
) -> None:
    _require_serial(cloud, way)
    group, count = make_group("anti-affinity"), cloud.size.computes
    assert way(cloud, group, count) == ["ACTIVE"] * count
    assert _counts(cloud) == [1] * count
    assert one_by_one(cloud, group, 1) == ["ERROR"]


@pytest.mark.parametrize("way", WAYS)
def test_members_that_attract_each_other_share_a_host(cloud: CheckedCloud, make_group: MakeGroup, way: Boot) -> None:
    _require_serial(cloud, way)
    assert way(cloud, make_group("affinity"), 4) == ["ACTIVE"] * 4
    assert _counts(cloud) == [4]


@pytest.mark.parametrize("way", WAYS)
def test_hosts_have_no_more_members_than_the_rule_says(cloud: CheckedCloud, make_group: MakeGroup, way: Boot) -> None:
    _require_serial(cloud, way)
    group, count = make_group("anti-affinity", max_server_per_host=PER_HOST), PER_HOST * cloud.size.computes
    assert way(cloud, group, count) == ["ACTIVE"] * count
    assert _counts(cloud) == [PER_HOST] * cloud.size.computes
    assert one_by_one(cloud, group, 1) == ["ERROR"]


@pytest.mark.parametrize("way", WAYS)
def test_soft_anti_affinity_fills_the_hosts_evenly_and_refuses_nobody(
    cloud: CheckedCloud, make_group: MakeGroup, way: Boot
) -> None:
    count = cloud.size.computes + 1
    assert way(cloud, make_group("soft-anti-affinity"), count) == ["ACTIVE"] * count
    if way is not at_the_same_time:
        assert _counts(cloud) == [2, *[1] * (count - 2)]


@pytest.mark.parametrize("way", WAYS)
def test_soft_affinity_refuses_nobody(cloud: CheckedCloud, make_group: MakeGroup, way: Boot) -> None:
    # By Nova's default multipliers a member weighs as much as a running build, and nova-compute reports the end of a
    # build up to a minute later: which host gets the next member depends on when. Larger multipliers: test_options.py.
    count = cloud.size.computes + 1
    assert way(cloud, make_group("soft-affinity"), count) == ["ACTIVE"] * count


def test_request_for_more_members_than_hosts_gets_none(cloud: CheckedCloud, make_group: MakeGroup) -> None:
    count = cloud.size.computes + 1
    assert in_one_request(cloud, make_group("anti-affinity"), count) == ["ERROR"] * count
    assert _counts(cloud) == []
