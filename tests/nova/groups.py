# SPDX-License-Identifier: Apache-2.0
"""Members of server groups: booted one by one, at the same time, and by one request."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from devstack.nova.client import NovaClient
from tests.nova.actions import host_of
from tests.support.nova.checked_cloud import CheckedCloud

MakeGroup = Callable[..., str]
Boot = Callable[[CheckedCloud, str, int], list[str]]


def one_by_one(cloud: CheckedCloud, group: str, count: int) -> list[str]:
    """Boot members of a group, each after the last is active; return their states."""
    states = []
    for number in range(count):
        server = cloud.nova.boot(f"server{number}", "small", {"group": group})
        states += [record["status"] for record in cloud.nova.wait_for([server], "ACTIVE", "ERROR")]
    return states


def at_the_same_time(cloud: CheckedCloud, group: str, count: int) -> list[str]:
    """Boot members of a group by requests of as many clients; return their states."""

    def boot(number: int) -> str:
        return NovaClient(cloud.parts.urls.api).boot(f"server{number}", "small", {"group": group})

    with ThreadPoolExecutor(count) as pool:
        servers = list(pool.map(boot, range(count)))
    return [server["status"] for server in cloud.nova.wait_for(servers, "ACTIVE", "ERROR")]


def in_one_request(cloud: CheckedCloud, group: str, count: int) -> list[str]:
    """Boot members of a group by one request; return their states."""
    cloud.nova.boot("many", "small", {"group": group}, min_count=count, max_count=count)
    servers = [server["id"] for server in cloud.nova.get("/servers")["servers"]]
    return [server["status"] for server in cloud.nova.wait_for(servers, "ACTIVE", "ERROR")]


def members_by_host(cloud: CheckedCloud) -> dict[str, int]:
    """Return the numbers of servers on the hosts that have any, without those that were refused."""
    servers = [server for server in cloud.nova.get("/servers/detail")["servers"] if server["status"] != "ERROR"]
    return dict(Counter(host_of(cloud.nova, server["id"]) for server in servers))
