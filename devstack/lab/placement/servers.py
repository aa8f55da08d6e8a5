# SPDX-License-Identifier: Apache-2.0
"""Servers of both sides: gantt-placement on a private Redis, OpenStack Placement on a private MariaDB."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from devstack.cluster_size import ClusterSize
from devstack.confs import PARTITION
from devstack.lab import partitions
from devstack.lab.peers import side
from devstack.lab.placement.calls import HttpClient
from devstack.lab.placement.cloud import Cloud
from devstack.lab.private_cluster import running
from devstack.lab.private_servers import running_mariadb
from devstack.lab.processor_time import resident_bytes
from devstack.layout import PLACEMENT
from devstack.servers.errors import ServerError
from devstack.servers.ports import free_port
from devstack.servers.redis import AppendFsync
from rpcapi.resources import names
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, ProviderChange, Refusal, SetInventories, SetTraits
from scheduler_svc.store.redis import RedisStore

BATCH = 500  # consumers per call


@dataclass(frozen=True, slots=True)
class GanttPlacement:
    """Running gantt-placement with its store; ``pids`` has the processes of both."""

    port: int
    store: RedisStore
    pids: tuple[int, ...]
    bytes_per_provider: float

    def used(self, provider: str) -> Mapping[str, int]:
        (state,) = self.store.read_providers([names.api_provider(provider)]).values()
        return state.used


@contextlib.contextmanager
def run_gantt(cloud: Cloud, workers: int, fsync: AppendFsync) -> Iterator[GanttPlacement]:
    size, workers_option = ClusterSize(placement_port=0), {"placement": {"placement": {"workers": workers}}}
    with (
        running(size, fsync, workers_option) as private_cluster,
        partitions.opened(private_cluster.store_url, PARTITION) as store,
    ):
        empty_bytes = resident_bytes(private_cluster.run_daemon(PLACEMENT))
        private_cluster.stop_daemons()
        _fill(store, cloud)
        api_pid, store_pid = private_cluster.run_daemon(PLACEMENT), private_cluster.store.pid
        port = private_cluster.size.placement_port
        assert port is not None and store_pid is not None  # noqa: S101 - both run
        grown = resident_bytes(api_pid) - empty_bytes
        yield GanttPlacement(port, store, (api_pid, store_pid), grown / workers / cloud.size)


def _fill(store: RedisStore, cloud: Cloud) -> None:
    providers = cloud.providers()
    for provider in providers:
        create_provider(store, provider, provider["uuid"])
    holders = [
        allocation_change(provider["uuid"], provider["uuid"], provider["used"])
        for provider in providers
        if provider["used"]
    ]
    for first in range(0, len(holders), BATCH):
        refusal = store.allocate(holders[first : first + BATCH])
        if refusal is not None:
            raise ServerError(f"Allocations were refused: {refusal}.")


def create_provider(store: RedisStore, provider: Mapping[str, Any], name: str) -> None:
    """Create a provider given in the form of placement_side.py. Raises ServerError if it is refused."""
    key = names.api_provider(provider["uuid"])
    parent = None if provider["parent"] is None else names.api_provider(provider["parent"])
    changes: list[ProviderChange] = [CreateProvider(key, name, parent)]
    if provider["inventories"]:
        inventories = {unit: Inventory(**fields) for unit, fields in provider["inventories"].items()}
        changes.append(SetInventories(key, inventories))
    if provider["traits"]:
        changes.append(SetTraits(key, provider["traits"]))
    for change in changes:
        answer = store.change_provider(change)
        if isinstance(answer, Refusal):
            raise ServerError(f"Provider {name} was refused: {answer}.")


def allocation_change(consumer: str, provider: str, amounts: Mapping[str, int]) -> AllocationChange:
    return AllocationChange(consumer, {names.api_provider(provider): amounts}, "lab", "lab", None, "INSTANCE")


@dataclass(frozen=True, slots=True)
class ServedPlacement:
    """Running Placement; ``pids`` has the processes of its API and database."""

    port: int
    pids: tuple[int, ...]

    def used(self, provider: str) -> Mapping[str, int]:
        client = HttpClient(self.port)
        try:
            usages: Mapping[str, int] = json.loads(client.get(f"/resource_providers/{provider}/usages"))["usages"]
            return usages
        finally:
            client.close()


@contextlib.contextmanager
def run_placement(cloud: Cloud, workers: int, flush: int) -> Iterator[ServedPlacement]:
    """Start MariaDB and Placement with the cloud's providers. Raises PeerFailed, ServerError or BinaryMissing."""
    settings = [f"--innodb-flush-log-at-trx-commit={flush}"]
    with running_mariadb(settings) as database, side.running(side.program("placement_http_side.py")) as process:
        port = free_port()
        values: dict[str, Any] = {"connection": database.url(), "providers": cloud.providers()}
        process.ask("prepare", **values)
        pids = process.ask("serve_http", port=port, workers=workers)
        assert database.pid is not None  # noqa: S101 - it is running
        yield ServedPlacement(port, (*pids, database.pid))
