# SPDX-License-Identifier: Apache-2.0
"""Cloud with nova-api, nova-conductor and computes that boots bursts of servers, scheduled by one side."""

import contextlib
import itertools
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from devstack.lab.nova.bursts import GROUP, HOSTS, BootedServer, BurstResult, ServerBurst
from devstack.lab.nova.paired_cloud import OURS, THEIRS
from devstack.lab.private_servers import started
from devstack.nova import records
from devstack.nova.client import NovaClient, wait_until
from devstack.nova.cloud import NovaCloud
from devstack.nova.confs import CELL_DATABASE
from devstack.nova.size import CloudSize
from devstack.servers.errors import ServerNotReady

# Capacity for 400 servers of the flavor, twice the largest burst.
VCPUS, MEMORY_MB, DISK_GB = 100, 51_200, 400
FLAVOR, FLAVOR_MEMORY_MB = "burst", 512
LARGEST = 200
CLIENTS = 20
BURST_SECONDS = 1800.0
SETTLE_SECONDS = 60.0
STATES = ("ACTIVE", "ERROR")
PLACEMENTS, SCHEDULERS = {OURS: "gantt", THEIRS: "placement"}, {OURS: "gantt", THEIRS: "nova"}
ALL_SERVERS = "/servers/detail?limit=1000"


class BurstCloud:
    """Cloud of one side with HOSTS equal computes and ``schedulers`` scheduler processes."""

    def __init__(self, folder: Path, side: str, schedulers: int) -> None:
        size = CloudSize(
            HOSTS,
            VCPUS,
            MEMORY_MB,
            DISK_GB,
            placement=PLACEMENTS[side],
            scheduler=SCHEDULERS[side],
            schedulers=schedulers,
        )
        self._cloud = NovaCloud(folder, size)

    def start(self) -> None:
        self._cloud.start()
        self._cloud.nova.create_flavor(FLAVOR, vcpus=1, memory_mb=FLAVOR_MEMORY_MB, disk_gb=1)

    def close(self) -> None:
        self._cloud.destroy()

    def boot(self, burst: ServerBurst) -> BurstResult:
        """Boot a burst by CLIENTS clients within BURST_SECONDS, then delete it. Raises ServerNotReady."""
        groups = [self._create_group() for _ in range(burst.groups)]
        members: list[int | None] = [number for number in range(burst.groups) for _ in range(GROUP)]
        members += [None] * (burst.servers - len(members))
        began = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            hints = [{} if number is None else {"group": groups[number]} for number in members]
            uuids = list(pool.map(self._request, itertools.count(), hints))
        with contextlib.suppress(ServerNotReady):
            wait_until(lambda: self._are_settled(uuids), f"a burst of {burst.servers}", BURST_SECONDS)
        seconds = time.monotonic() - began
        records_by_uuid = self._servers()
        servers = [_server(records_by_uuid[key], number) for key, number in zip(uuids, members, strict=True)]
        attempts = records.build_attempts(self._cloud.parts.urls.databases[CELL_DATABASE], uuids)
        result = BurstResult(
            servers, seconds, sum(max(0, count - 1) for count in attempts.values()), self._leaks(), self._oversold()
        )
        self._delete(uuids, groups)
        return result

    def _patient_client(self) -> NovaClient:
        """Return a client with the timeout of a whole burst, because nova-api may wait for a busy Placement."""
        return NovaClient(self._cloud.parts.urls.api, seconds=BURST_SECONDS)

    def _create_group(self) -> str:
        body = {"name": str(uuid.uuid4()), "policy": "anti-affinity"}
        key: str = self._cloud.nova.call("POST", "/os-server-groups", {"server_group": body})["server_group"]["id"]
        return key

    def _request(self, number: int, hints: dict[str, Any]) -> str:
        return self._patient_client().boot(f"burst{number}", FLAVOR, hints)

    def _servers(self) -> dict[str, dict[str, Any]]:
        return {server["id"]: server for server in self._patient_client().get(ALL_SERVERS)["servers"]}

    def _are_settled(self, uuids: Sequence[str]) -> bool:
        servers = self._servers()
        return all(
            key in servers and servers[key]["status"] in STATES and servers[key]["OS-EXT-STS:task_state"] is None
            for key in uuids
        )

    def _leaks(self) -> int:
        """Return how many consumers' allocations differ from Nova's records even after SETTLE_SECONDS."""
        with contextlib.suppress(ServerNotReady):
            wait_until(lambda: not self._cloud.differences(), "equal allocations", SETTLE_SECONDS)
        return len(self._cloud.differences())

    def _oversold(self) -> int:
        placement, oversold = self._cloud.placement, 0
        for provider in placement.providers():
            path = f"/resource_providers/{provider['uuid']}"
            inventories = placement.get(f"{path}/inventories")["inventories"]
            for name, amount in placement.get(f"{path}/usages")["usages"].items():
                oversold += max(0, amount - inventories[name]["total"])
        return oversold

    def _delete(self, uuids: Sequence[str], groups: Sequence[str]) -> None:
        nova = self._patient_client()
        for key in uuids:
            nova.delete(f"/servers/{key}")
        wait_until(lambda: not nova.get(ALL_SERVERS)["servers"], "the end of a burst", BURST_SECONDS)
        for key in groups:
            nova.delete(f"/os-server-groups/{key}")


def running(side: str, schedulers: int) -> contextlib.AbstractContextManager[BurstCloud]:
    return started(lambda folder: BurstCloud(folder, side, schedulers), BurstCloud.start, BurstCloud.close)


def _server(record: dict[str, Any], group: int | None) -> BootedServer:
    return BootedServer(record["status"], record["OS-EXT-SRV-ATTR:host"], group)
