# SPDX-License-Identifier: Apache-2.0
"""Deployments of one partition whose store can be taken back to an earlier state, and agents that keep stamps."""

import contextlib
import copy
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from devstack.servers.redis import RedisServer
from rpcapi import context, objects
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.host_state.stamps import StampSigner
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.sql import SqlStore
from tests.support.store.backends import RedisFaults, memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import SMALL, StorePartition, running

KEY = "a key that only schedulers know: 0123456789"
NODE = {"inventories": {name: {"total": 8 * amount} for name, amount in SMALL.items()}}


class OnePartition:
    """The partitions of a worker that has one."""

    def __init__(self, store: Any) -> None:
        self.own = SimpleNamespace(name="p1", store=store, replica=SimpleNamespace(record_report=lambda: None))

    def find(self, _name: str | None) -> Any:
        return self.own

    def __iter__(self) -> Iterator[Any]:
        return iter([self.own])

    def __len__(self) -> int:
        return 1


@dataclass
class Deployment:
    """A partition, ``back_up``, which returns a function that restores what is stored, and a scheduler's endpoint."""

    partition: StorePartition
    back_up: Callable[[], Callable[[], None]]

    def __post_init__(self) -> None:
        self.restart_scheduler()

    def restart_scheduler(self) -> None:
        """Start a scheduler on the current store, that has observed nothing."""
        partitions: Any = OnePartition(self.partition.store)
        self.endpoint = HostStateEndpoint(partitions, None, None, lambda: None, StampSigner(KEY))  # type: ignore[arg-type]

    def report(self, host: str, stats: objects.StatsReport) -> objects.StatsAnswer:
        return HostStateEndpoint.update_resource_stats.__wrapped__(self.endpoint, context.new(), host, stats)  # type: ignore[attr-defined,no-any-return]

    @property
    def epoch(self) -> int:
        return self.partition.store.snapshot().epoch


@dataclass
class Agent:
    """A host's agent: what it runs, and its counters."""

    deployment: Deployment
    host: str
    stamp: str | None = None
    incarnation: int = 0
    sequence: int = 0

    def __post_init__(self) -> None:
        self.runs: list[ClaimRef] = []

    def report(self) -> objects.StatsAnswer:
        """Report as the real agent does: register where it must, and audit where it is requested."""
        answer = self._send(register=self.incarnation == 0)
        if answer.superseded:
            answer = self._send(register=True)
        if answer.need_full:
            answer = self._send(full=True)
        self.incarnation = answer.incarnation
        self.stamp = answer.stamp
        if answer.audit:
            claims = [running(ref, self.host) for ref in self.runs]
            self.deployment.partition.store.audit(self.host, answer.epoch, claims, 0)
        return answer

    def _send(self, register: bool = False, full: bool = False) -> objects.StatsAnswer:
        base = self.sequence
        self.sequence += 1
        full = full or register
        return self.deployment.report(
            self.host,
            objects.StatsReport.of(
                incarnation=self.incarnation,
                register=register,
                agent=f"agent of {self.host}",
                sequence=self.sequence,
                base=base,
                full=full,
                nodes={self.host: NODE} if full else {},
                stamp=self.stamp,
            ),
        )

    def boot(self) -> ClaimRef:
        ref = ClaimRef(str(uuid.uuid4()), 1)
        assert self.deployment.partition.prepare(ref.consumer, self.host).answer == Answer.PREPARED
        self.deployment.partition.store.confirm(self.host, [ref])
        self.runs.append(ref)
        return ref


def memory_deployment() -> Deployment:
    partition = memory_partition()
    store: Any = partition.store
    assert isinstance(store, MemoryStore)

    def back_up() -> Callable[[], None]:
        mark = copy.deepcopy(store.state)

        def restore() -> None:
            store.state = mark

        return restore

    return Deployment(partition, back_up)


def redis_deployment(server: RedisServer) -> Deployment:
    partition = redis_partition(server)
    name = partition.store.partition
    faults = RedisFaults(server, name)

    def back_up() -> Callable[[], None]:
        mark = faults.mark()
        meta = f"gantt:{{p:{name}}}:meta"
        identity = server.client().hmget(meta, "run_id", "replid")

        def restore() -> None:
            partition.store.close()
            faults.restore(mark)
            # what a server with appendfsync always records: its restart loses nothing
            server.client().hset(meta, mapping=dict(zip(("run_id", "replid"), identity, strict=True)))
            partition.store = RedisStore(server.url(), name, durability="always")

        return restore

    return Deployment(partition, back_up)


def redis_folder_deployment(server: RedisServer) -> Deployment:
    """Return a deployment whose server stops for each backup and restore of its folder."""
    partition = redis_partition(server, durability="always")
    name, data, backup = partition.store.partition, server.folder / "data", server.folder / "backup"

    def exchange(source: Path, target: Path) -> None:
        partition.store.close()
        server.stop()
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        server.start()
        partition.store = RedisStore(server.url(), name, durability="always")

    def back_up() -> Callable[[], None]:
        exchange(data, backup)
        return lambda: exchange(backup, data)

    return Deployment(partition, back_up)


def sqlite_deployment(folder: Path) -> Deployment:
    """Return a deployment whose file is overwritten by its backup."""
    live, backup = folder / "store.sqlite", folder / "backup.sqlite"
    url = f"sqlite:///{live}"
    partition = sql_partition(url)
    name = partition.store.partition

    def copy_database(source: Path, target: Path) -> None:
        with (
            contextlib.closing(sqlite3.connect(source)) as reader,
            contextlib.closing(sqlite3.connect(target)) as writer,
        ):
            reader.backup(writer)

    def restore() -> None:
        partition.store.close()
        copy_database(backup, live)
        partition.store = SqlStore(url, name)

    def back_up() -> Callable[[], None]:
        copy_database(live, backup)
        return restore

    return Deployment(partition, back_up)
