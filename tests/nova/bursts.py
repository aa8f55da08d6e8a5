# SPDX-License-Identifier: Apache-2.0
"""Bursts of boots with a fault in the middle, and what must be true after them."""

import contextlib
import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import requests

from devstack.nova import roles
from devstack.nova.client import CallFailed, NovaClient
from devstack.nova.cloud import NovaCloud
from devstack.servers.process import members
from tests.functional.clusters import workers

BOOTS = 20
CLIENTS = 5
Server = dict[str, Any]


def boot_during(cloud: NovaCloud, fault: Callable[[], None], boots: int = BOOTS) -> list[Server]:
    """Ask for servers, with a fault after half of the requests, and return all servers once none changes any more."""
    request_during(cloud, fault, boots)
    uuids = [server["id"] for server in cloud.nova.get("/servers")["servers"]]
    return cloud.nova.wait_for(uuids, "ACTIVE", "ERROR")


def request_during(cloud: NovaCloud, fault: Callable[[], None], boots: int = BOOTS) -> None:
    """Ask for servers, with a fault after half of the requests.

    Those that nova-api refuses while a service is away are not repeated.
    """
    with ThreadPoolExecutor(CLIENTS) as pool:
        wait([pool.submit(_boot, cloud, number) for number in range(boots // 2)])
        during = [pool.submit(_boot, cloud, number) for number in range(boots // 2, boots)]
        fault()
        for future in during:
            future.result()


def _boot(cloud: NovaCloud, number: int) -> None:
    client = NovaClient(cloud.parts.urls.api)
    with contextlib.suppress(CallFailed, requests.RequestException):
        client.boot(f"burst{number}", "small")


def servers_of(cloud: NovaCloud) -> list[Server]:
    """Return all servers."""
    servers: list[Server] = cloud.nova.get("/servers/detail")["servers"]
    return servers


def require_built_once(cloud: NovaCloud, servers: list[Server]) -> None:
    """Require one guest of each active server, on the host that Nova has recorded, and a reason of each error."""
    active = {server["id"]: [server["OS-EXT-SRV-ATTR:host"]] for server in servers if server["status"] == "ACTIVE"}
    assert cloud.guests() == active
    for server in servers:
        assert server["status"] == "ACTIVE" or server["fault"]["message"], server


def end_leaks(cloud: NovaCloud, servers: list[Server]) -> list[str]:
    """Let `gantt audit --nova --fix` end what the fault leaked, and return the consumers.

    A leak is of a server that was not built: there is at most one for each request in flight.
    """
    unbuilt = {server["id"] for server in servers if server["status"] != "ACTIVE"}
    leaks = {consumer for consumer in unbuilt if cloud.placement.allocations(consumer)}
    listed = cloud.gantt("audit", "--nova", "-f", "value", "-c", "instance", statuses=(1 if leaks else 0,)).split()
    assert set(listed) == leaks
    if leaks:
        cloud.gantt("audit", "--nova", "--fix")
        cloud.gantt("audit", "--nova")
    return listed


def kill_group(cloud: NovaCloud, name: str) -> None:
    """Kill all processes of a daemon."""
    process = cloud.process(name)
    processes = members(process.pid) if process.pid is not None else []
    assert processes, f"{name} does not run"
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.kill()


def kill_worker(cloud: NovaCloud, name: str) -> None:
    """Kill the first of a daemon's worker processes; its other children are none."""
    started = re.findall(r"worker 0 is process (\d+)", cloud.process(name).log.read_text())
    pid = int(started[-1])
    assert pid in workers(cloud.process(name)), f"worker 0 of {name} does not run"
    os.kill(pid, signal.SIGKILL)


def start(cloud: NovaCloud, name: str) -> None:
    """Start a killed daemon."""
    daemons = [*roles.served_by(cloud.parts, "scheduler"), *roles.served_by(cloud.parts, "placement")]
    (daemon,) = [daemon for daemon in daemons if daemon.name == name]
    cloud.spawn(daemon)
