# SPDX-License-Identifier: Apache-2.0
"""Server groups: members that are asked for one by one, at the same time, and in one request."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from devstack.nova.client import NovaClient
from devstack.nova.cloud import NovaCloud
from tests.nova.actions import host_of

PER_HOST = 2

MakeGroup = Callable[..., str]
Boot = Callable[[NovaCloud, str, int], list[str]]


def one_by_one(cloud: NovaCloud, group: str, count: int) -> list[str]:
    """Boot members of a group, each after the last is active; return their states."""
    states = []
    for number in range(count):
        server = cloud.nova.boot(f"server{number}", "small", {"group": group})
        states += [record["status"] for record in cloud.nova.wait_for([server], "ACTIVE", "ERROR")]
    return states


def at_the_same_time(cloud: NovaCloud, group: str, count: int) -> list[str]:
    """Boot members of a group by requests of as many clients; return their states."""

    def boot(number: int) -> str:
        return NovaClient(cloud.parts.urls.api).boot(f"server{number}", "small", {"group": group})

    with ThreadPoolExecutor(count) as pool:
        servers = list(pool.map(boot, range(count)))
    return [server["status"] for server in cloud.nova.wait_for(servers, "ACTIVE", "ERROR")]


def in_one_request(cloud: NovaCloud, group: str, count: int) -> list[str]:
    """Boot members of a group by one request; return their states."""
    cloud.nova.boot("many", "small", {"group": group}, min_count=count, max_count=count)
    servers = [server["id"] for server in cloud.nova.get("/servers")["servers"]]
    return [server["status"] for server in cloud.nova.wait_for(servers, "ACTIVE", "ERROR")]


WAYS = [one_by_one, at_the_same_time, in_one_request]


@pytest.fixture
def make_group(cloud: NovaCloud) -> Iterator[MakeGroup]:
    """A function that creates a server group of a policy with rules, and returns its uuid."""
    groups = []

    def make(policy: str, **rules: int) -> str:
        group = {"name": f"group-{uuid.uuid4()}", "policy": policy, **({"rules": rules} if rules else {})}
        identity: str = cloud.nova.call("POST", "/os-server-groups", {"server_group": group})["server_group"]["id"]
        groups.append(identity)
        return identity

    yield make
    for identity in groups:
        cloud.nova.call("DELETE", f"/os-server-groups/{identity}")


def _require_serial(cloud: NovaCloud, way: Boot) -> None:
    if way is at_the_same_time and cloud.size.scheduler == "nova":
        pytest.skip("nova-scheduler decides about two members of a group without knowing of each other")


def _counts(cloud: NovaCloud) -> list[int]:
    """Return the numbers of servers on the hosts that have any, the largest first."""
    servers = [server for server in cloud.nova.get("/servers/detail")["servers"] if server["status"] == "ACTIVE"]
    return sorted(Counter(host_of(cloud.nova, server["id"]) for server in servers).values(), reverse=True)


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
    # With Nova's default weighers the free capacity of a host outweighs the members on another: test_options.py.
    spreads = policy == "anti-affinity" or cloud.size.scheduler == "nova"
    assert _counts(cloud) == ([2, *[1] * (count - 2)] if spreads else [count])


def test_request_for_more_members_than_hosts_gets_none(cloud: NovaCloud, make_group: MakeGroup) -> None:
    count = cloud.size.computes + 1
    assert in_one_request(cloud, make_group("anti-affinity"), count) == ["ERROR"] * count
    assert _counts(cloud) == []
