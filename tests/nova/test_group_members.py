# SPDX-License-Identifier: Apache-2.0
"""Members of server groups that gantt did not place: on a conductor's alternate, and in an unconfirmed move."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.nova.actions import boot, host_of, hosts_tried
from tests.nova.conftest import SIZE, compared, started_cloud
from tests.nova.groups import MakeGroup, members_by_host, one_by_one
from tests.support.nova.checked_cloud import CheckedCloud

# nova-scheduler reads for each request where servers are: what computes report to it is up to two minutes late.
# Computes do not judge a second time, which would hide what the scheduler decides.
OPTIONS = {
    "filter_scheduler": {"track_instance_changes": "false"},
    "workarounds": {"disable_group_policy_check_upcall": "true"},
}
RULES: list[tuple[str, dict[str, int]]] = [("anti-affinity", {}), ("anti-affinity", {"max_server_per_host": 2})]


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud of three computes with the options."""
    with started_cloud(replace(SIZE, computes=3, nova_options=OPTIONS)) as cloud:
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers."""
    with compared(running_cloud):
        yield running_cloud


def fill_group(cloud: CheckedCloud, group: str, count: int) -> None:
    """Boot members, and require that there is no capacity for another one."""
    assert one_by_one(cloud, group, count) == ["ACTIVE"] * count
    assert one_by_one(cloud, group, 1) == ["ERROR"]


@pytest.mark.parametrize(("policy", "rules"), RULES)
def test_member_on_an_alternate_repels_others(
    cloud: CheckedCloud, make_group: MakeGroup, policy: str, rules: dict[str, int]
) -> None:
    group, per_host = make_group(policy, **rules), rules.get("max_server_per_host", 1)
    member = boot(cloud, hints={"group": group}, metadata={"failed_builds": "1"})
    assert host_of(cloud.nova, member) == hosts_tried(cloud, member, "failed_builds")[1]
    fill_group(cloud, group, per_host * cloud.size.computes - 1)
    assert members_by_host(cloud) == dict.fromkeys(cloud.size.hosts, per_host)


def test_member_on_an_alternate_attracts_others(cloud: CheckedCloud, make_group: MakeGroup) -> None:
    group = make_group("affinity")
    member = boot(cloud, hints={"group": group}, metadata={"failed_builds": "1"})
    assert one_by_one(cloud, group, 2) == ["ACTIVE"] * 2
    assert members_by_host(cloud) == {hosts_tried(cloud, member, "failed_builds")[1]: 3}


@pytest.mark.parametrize(("policy", "rules"), RULES)
def test_member_in_an_unconfirmed_resize_repels_others_from_its_destination_only(
    cloud: CheckedCloud, make_group: MakeGroup, policy: str, rules: dict[str, int]
) -> None:
    """The migration's consumer, which holds the source, is no member: Nova's filters count servers on their host."""
    group, per_host = make_group(policy, **rules), rules.get("max_server_per_host", 1)
    member = boot(cloud, hints={"group": group})
    source = host_of(cloud.nova, member)
    cloud.nova.act(member, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([member], "VERIFY_RESIZE")
    assert host_of(cloud.nova, member) != source
    fill_group(cloud, group, per_host * cloud.size.computes - 1)
    assert members_by_host(cloud) == dict.fromkeys(cloud.size.hosts, per_host)


def test_member_of_a_pair_cannot_leave_the_other(cloud: CheckedCloud, make_group: MakeGroup) -> None:
    group = make_group("affinity")
    members = [boot(cloud, hints={"group": group}) for _ in range(2)]
    host = host_of(cloud.nova, members[0])
    cloud.nova.act(members[0], "migrate", {"host": None})
    cloud.nova.wait_for(members, "ACTIVE")
    assert members_by_host(cloud) == {host: 2}
