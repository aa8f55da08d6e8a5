# SPDX-License-Identifier: Apache-2.0
"""Bursts of boots with a fault in the middle, and what must be true after them."""

import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import requests

from devstack.nova import roles
from devstack.nova.client import CallFailed, NovaClient
from devstack.servers.process import members
from tests.support.clusters.clusters import workers
from tests.support.nova.checked_cloud import CheckedCloud

BOOTS = 20
CLIENTS = 5
Server = dict[str, Any]
Fault = Callable[[CheckedCloud], set[str]]  # returns the servers whose requests were in flight


@dataclass(frozen=True)
class Burst:
    """The servers after a burst, and the uuids of those whose requests were in flight at the fault in its middle."""

    servers: list[Server]
    in_flight: set[str]


def boot_during(cloud: CheckedCloud, fault: Fault, boots: int = BOOTS) -> Burst:
    """Ask for servers, with a fault after half of the requests, and return once none changes any more."""
    in_flight = request_during(cloud, fault, boots)
    uuids = [server["id"] for server in cloud.nova.get("/servers")["servers"]]
    return Burst(cloud.nova.wait_for(uuids, "ACTIVE", "ERROR"), in_flight)


def request_during(cloud: CheckedCloud, fault: Fault, boots: int = BOOTS) -> set[str]:
    """Ask for servers, with a fault after half of the requests, and return those that were in flight at the fault.

    Those that nova-api refuses while a service is away are not repeated.
    """
    with ThreadPoolExecutor(CLIENTS) as pool:
        wait([pool.submit(_boot, cloud, number) for number in range(boots // 2)])
        during = [pool.submit(_boot, cloud, number) for number in range(boots // 2, boots)]
        in_flight = fault(cloud)
        for future in during:
            future.result()
    return in_flight


@contextlib.contextmanager
def recorded_in_flight(cloud: CheckedCloud) -> Iterator[set[str]]:
    """The servers that have no host yet before or after what happens inside; complete at the end.

    A request that is in flight at that moment, and no other, may leave a claim without a server.
    """
    in_flight = _without_host(cloud)
    yield in_flight
    in_flight |= _without_host(cloud)


def _without_host(cloud: CheckedCloud) -> set[str]:
    servers = servers_of(cloud)
    return {server["id"] for server in servers if server["status"] == "BUILD" and not server["OS-EXT-SRV-ATTR:host"]}


def _boot(cloud: CheckedCloud, number: int) -> None:
    client = NovaClient(cloud.parts.urls.api)
    with contextlib.suppress(CallFailed, requests.RequestException):
        client.boot(f"burst{number}", "small")


def servers_of(cloud: CheckedCloud) -> list[Server]:
    """Return all servers."""
    servers: list[Server] = cloud.nova.get("/servers/detail")["servers"]
    return servers


def require_built_once(cloud: CheckedCloud, servers: list[Server]) -> None:
    """Require one guest of each active server, on the host that Nova has recorded, and a reason of each error."""
    active = {server["id"]: [server["OS-EXT-SRV-ATTR:host"]] for server in servers if server["status"] == "ACTIVE"}
    assert cloud.guests() == active
    for server in servers:
        assert server["status"] == "ACTIVE" or server["fault"]["message"], server


def end_leaks(cloud: CheckedCloud, burst: Burst) -> None:
    """Let `gantt audit --nova --fix` end what the fault leaked; require that there is no leak after it.

    Before it, a leak is of a server that was not built, and there is at most one for each request in flight at the
    fault.
    """
    unbuilt = {server["id"] for server in burst.servers if server["status"] != "ACTIVE"}
    leaks = {consumer for consumer in unbuilt if cloud.placement.allocations(consumer)}
    listed = cloud.gantt("audit", "--nova", "-f", "value", "-c", "instance", statuses=(1 if leaks else 0,)).split()
    assert sorted(listed) == sorted(leaks)
    assert leaks <= burst.in_flight, "a request that was not in flight has leaked"
    if leaks:
        cloud.gantt("audit", "--nova", "--fix")
        cloud.gantt("audit", "--nova")
    assert not any(cloud.placement.allocations(consumer) for consumer in unbuilt)


def kill_group(cloud: CheckedCloud, name: str) -> None:
    """Kill all processes of a daemon."""
    process = cloud.process(name)
    processes = members(process.pid) if process.pid is not None else []
    assert processes, f"{name} does not run"
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.kill()


def kill_worker(cloud: CheckedCloud, name: str) -> None:
    """Kill the first of a daemon's worker processes; its other children are none."""
    started = re.findall(r"worker 0 is process (\d+)", cloud.process(name).log.read_text())
    pid = int(started[-1])
    assert pid in workers(cloud.process(name)), f"worker 0 of {name} does not run"
    os.kill(pid, signal.SIGKILL)


def start(cloud: CheckedCloud, name: str) -> None:
    """Start a killed daemon."""
    daemons = [*roles.served_by(cloud.parts, "scheduler"), *roles.served_by(cloud.parts, "placement")]
    (daemon,) = [daemon for daemon in daemons if daemon.name == name]
    cloud.spawn(daemon)
