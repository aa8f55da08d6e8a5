# SPDX-License-Identifier: Apache-2.0
"""Stores on Redis that forget: one server, Sentinel and a Redis Cluster."""

import contextlib
import os
import uuid
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import redis

from conductor.store.interface import ConductorStore
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer
from devstack.servers.redis_cluster import RedisCluster
from devstack.servers.sentinel import SERVICE, Sentinel
from scheduler_svc.store.redis.keys import prefix
from tests.regressions.forgetful_stores import NAMESPACES, ForgetfulStores
from tests.support.clusters.setups import FailoverSetup
from tests.support.store.backends import RedisFaults, redis_partition
from tests.support.store.store_partition import StorePartition, poll

FAILOVER_SECONDS = 60.0


class RedisStores(ForgetfulStores):
    """Stores on Redis, that wait for no replica's acknowledgement."""

    def __init__(self, url: str, primary: Callable[[str], RedisServer]) -> None:
        super().__init__()
        self._url = url
        self._primary = primary

    def _open_partition(self) -> StorePartition:
        name = uuid.uuid4().hex[:12]
        partition = redis_partition(self._primary(prefix(name)), url=self._url, partition=name, namespaces=NAMESPACES)
        # as it is after the failover
        partition.pass_deadline_of = lambda consumer: RedisFaults(self._primary(prefix(name)), name).pass_deadline_of(
            consumer
        )
        return partition

    def _open_records(self) -> ConductorStore:
        return RedisConductorStore(self._url)


class OneRedis(RedisStores):
    """One server with ``appendfsync everysec``: its machine loses power before the end of its file is on disk."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__(server.url(), lambda _key: server)
        self._server = server

    def keep(self) -> None:
        with self._server.client() as client:
            poll(lambda: client.info("persistence")["aof_buffer_length"] == 0)
        self._sizes = {path: path.stat().st_size for path in self._files()}

    def _lose(self) -> None:
        self._server.kill()
        for path in self._files():
            os.truncate(path, self._sizes[path])
        self._server.start()

    def _files(self) -> Iterable[Path]:
        return (path for path in (self._server.folder / "data").rglob("*") if path.is_file())


class FailedOverRedis(RedisStores):
    """Sentinel or a Redis Cluster: replicas that lost contact to their primaries are promoted.

    The servers of ``setup`` replace none that is merely silent for a while. Otherwise a busy machine would have a
    replica promoted again, while the stores still use the former one through connections that it keeps open.
    """

    def __init__(self, setup: FailoverSetup) -> None:
        super().__init__(setup.url(None), setup.primary)
        self._group = setup.group
        if isinstance(setup.group, RedisCluster):
            servers, primaries = setup.group.nodes, len(setup.group.nodes) // 2
        else:
            servers, primaries = setup.group.servers, 1
        self._primaries, self._replicas = servers[:primaries], servers[primaries:]

    def keep(self) -> None:
        count = len(self._replicas) // len(self._primaries)
        for primary in self._primaries:
            with primary.client() as client:
                offset = client.info("replication")["master_repl_offset"]
                poll(lambda client=client, offset=offset: _acknowledgements(client, offset) == count)
        for replica in self._replicas:
            replica.pause()  # so that it cannot connect again
        for primary in self._primaries:
            with primary.client() as client:
                client.execute_command("CLIENT", "KILL", "TYPE", "replica")

    def _lose(self) -> None:
        for primary in self._primaries:
            primary.kill()
        for replica in self._replicas:
            replica.resume()
        if isinstance(self._group, RedisCluster):
            for replica in self._replicas:
                with replica.client() as client:
                    client.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
        poll(self._has_failed_over, FAILOVER_SECONDS)

    def _has_failed_over(self) -> bool:
        ports = {server.port for server in self._replicas}
        if isinstance(self._group, RedisCluster):
            return all(_owners(replica) == ports for replica in self._replicas)
        _fail_over(self._group.sentinels[0], ports)
        return all(int(_service(sentinel)["port"]) in ports for sentinel in self._group.sentinels)


def _acknowledgements(client: Any, offset: int) -> int:
    """Return how many replicas have the primary's writes up to ``offset``."""
    info = client.info("replication")
    replicas = [value for name, value in info.items() if name.startswith("slave") and isinstance(value, dict)]
    return sum(int(replica["offset"]) >= offset for replica in replicas)


def _fail_over(sentinel: Sentinel, ports: Collection[int]) -> None:
    """Let a sentinel promote one of the servers at ``ports``, unless it has begun that, or sees none alive yet."""
    service = _service(sentinel)
    if int(service["port"]) in ports or "failover_in_progress" in service["flags"]:
        return
    with sentinel.client() as client, contextlib.suppress(redis.ResponseError):
        client.execute_command("SENTINEL", "FAILOVER", SERVICE)


def _service(sentinel: Sentinel) -> dict[str, Any]:
    """Return the primary, as a sentinel sees it."""
    with sentinel.client() as client:
        state: dict[str, Any] = client.sentinel_master(SERVICE)
        return state


def _owners(node: RedisServer) -> set[int]:
    """Return the ports of the primaries of a cluster, as a node sees them; none while it serves nothing."""
    with node.client() as client:
        if client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            return set()
        return {owners[2][1] for owners in client.execute_command("CLUSTER", "SLOTS")}
