# SPDX-License-Identifier: Apache-2.0
"""Faults of the partitions' stores and the conductors' store: kill, failover, data loss, full disk, stepped clock."""

import contextlib
import random
import resource
import shutil
import threading
import time
from pathlib import Path

import redis

from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.faults.fault import RECORDS, STORE, Fault, limit_files
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.process import poll
from devstack.servers.redis import RedisServer
from devstack.servers.sentinel import SentinelGroup

FAILOVER_SECONDS = 60.0
ROLE_SECONDS, ROLE_POLL = 5.0, 0.5


class _StoreFault(Fault):
    partition: str
    group: SentinelGroup

    def choose(self) -> None:
        self.partition, self.group = choose_store(self.cluster, self.chance)
        self.targets = frozenset({f"{STORE} {self.partition}"})

    def heal(self) -> bool:
        restore_roles(self.group)
        return True


class _RecordsFault(Fault):
    targets = frozenset({RECORDS})


class StoreRestarted(_StoreFault):
    """Kill of the primary, which restarts from its append-only file before a failover."""

    KIND = "store killed and restarted"

    def inject(self) -> str:
        return restart_primary(self.group).folder.name


class StorePaused(_StoreFault):
    """Suspension of the primary, for shorter or longer than the sentinels wait."""

    KIND = "store suspended"
    HOLD = (0.2, 4.0)
    server: RedisServer

    def inject(self) -> str:
        self.server = self.group.primary()
        self.server.pause()
        return self.server.folder.name

    def heal(self) -> bool:
        self.server.resume()
        return super().heal()


class StoreFailedOver(_StoreFault):
    """Failover after a kill of the primary, which returns as a replica."""

    KIND = "store failed over"
    old: RedisServer

    def inject(self) -> str:
        self.old = self.group.primary()
        self.old.kill()
        return f"from {self.old.folder.name}"

    def heal(self) -> bool:
        occurred = poll(lambda: self.group.primary() is not self.old, FAILOVER_SECONDS)
        restore_roles(self.group)
        return occurred


class StoreFailedOverLagging(StoreFailedOver):
    """Failover to a replica that was cut off before, so that the last writes are lost."""

    KIND = "store failed over to a lagging replica"

    def inject(self) -> str:
        old = self.old = self.group.primary()
        replica = next(server for server in self.group.servers if server is not old)
        with replica.client() as client:
            client.execute_command("REPLICAOF", LOOPBACK, str(free_port()))
        lag = self.chance.uniform(0.2, 2.5)
        threading.Event().wait(lag)
        old.kill()
        return f"from {old.folder.name}, {lag:.1f} s behind"


class StoreEmptied(_StoreFault):
    KIND = "store emptied"

    def inject(self) -> str:
        with self.cluster.store_client(self.partition) as client:
            client.flushall()
        return "all keys"


class StoreRestored(_StoreFault):
    """Restart of the store from a copy of its files that is some seconds old."""

    KIND = "store restored from a backup"

    def inject(self) -> str:
        primary = self.group.primary()
        replica = next(server for server in self.group.servers if server is not primary)
        backup = _copied_data(primary)
        age = self.chance.uniform(0.5, 4.0)
        threading.Event().wait(age)
        for server in (primary, replica):
            server.kill()
        shutil.rmtree(primary.folder / "data")
        backup.rename(primary.folder / "data")
        shutil.rmtree(replica.folder / "data")
        primary.replica_of = replica.replica_of = None
        primary.start()
        return f"{age:.1f} s old"


class StoreClockStepped(_StoreFault):
    """Step of the server's clock, simulated by moving the partition's last recorded reading."""

    KIND = "store's clock stepped"

    def inject(self) -> str:
        step_ms = self.chance.choice((-2_592_000_000, -3_600_000, 3_600_000, 2_592_000_000))
        with self.cluster.store_client(self.partition) as client:
            meta = f"gantt:{{p:{self.partition}}}:meta"
            if client.hexists(meta, "clock"):
                client.hincrby(meta, "clock", -step_ms)
        return f"by {step_ms // 1000} s"


class StoreDiskFull(_StoreFault):
    """Full disk of the primary: it refuses writes, but the sentinels still see it up."""

    KIND = "store's disk full"
    HOLD = (1.0, 5.0)
    server: RedisServer

    def inject(self) -> str:
        self.server = self.group.primary()
        _limit(self.server, 0)
        return self.server.folder.name

    def heal(self) -> bool:
        _limit(self.server, resource.RLIM_INFINITY)
        return super().heal()


class RecordsDiskFull(_RecordsFault):
    """Full disk of the conductors' store, which ends at a failed write, maybe partly in its file."""

    KIND = "records' disk full"
    HOLD = (1.0, 5.0)

    def inject(self) -> str:
        _limit(self.cluster.records, 0)
        return "the conductors' store"

    def heal(self) -> bool:
        _limit(self.cluster.records, resource.RLIM_INFINITY)
        has_ended = self.cluster.records.pid is None
        if has_ended:
            self.cluster.records.start()
        return has_ended


class RecordsRestarted(_RecordsFault):
    KIND = "records killed and restarted"
    HOLD = (0.0, 3.0)

    def inject(self) -> str:
        self.cluster.records.kill()
        return "the conductors' store"

    def heal(self) -> bool:
        self.cluster.records.start()
        return True


def choose_store(cluster: ChaosCluster, chance: random.Random) -> tuple[str, SentinelGroup]:
    return chance.choice(list(cluster.stores.items()))


def restart_primary(group: SentinelGroup) -> RedisServer:
    primary = group.primary()
    primary.kill()
    primary.replica_of = None  # it may have been started as a replica
    primary.start()
    return primary


def restore_roles(group: SentinelGroup) -> None:
    """Start all servers, and wait until they have the roles that the sentinels chose. Raises ServerError.

    Servers that restart during a failover may become replicas of each other: assign their roles after ROLE_SECONDS.
    """
    began = time.monotonic()
    while True:
        for server in group.servers:
            if server.pid is None:
                server.replica_of = None
                server.start()
        primary = group.primary()
        wrong = [server for server in group.servers if not _has_role(server, primary)]
        if not wrong:
            return
        if time.monotonic() > began + FAILOVER_SECONDS:
            raise ServerError(f"{wrong[0].folder} has another role than the sentinels chose: {primary.folder} leads")
        if time.monotonic() > began + ROLE_SECONDS:
            for server in wrong:
                _assign_role(server, primary)
        time.sleep(ROLE_POLL)


def _limit(server: RedisServer, size: int) -> None:
    pid = server.pid
    if pid is not None:
        limit_files(pid, size)


def _has_role(server: RedisServer, primary: RedisServer) -> bool:
    try:
        with server.client() as client:
            info = client.info("replication")
    except redis.RedisError:
        return False
    if server is primary:
        return bool(info["role"] == "master")
    return bool(info.get("master_port") == primary.port and info.get("master_link_status") == "up")


def _assign_role(server: RedisServer, primary: RedisServer) -> None:
    place = ("NO", "ONE") if server is primary else (LOOPBACK, str(primary.port))
    with contextlib.suppress(redis.RedisError), server.client() as client:
        client.execute_command("REPLICAOF", *place)


def _copied_data(server: RedisServer) -> Path:
    """Copy a running server's append-only file. Start again if a rewrite changes the files meanwhile."""
    copy = server.folder / "backup"
    while True:
        shutil.rmtree(copy, ignore_errors=True)
        try:
            shutil.copytree(server.folder / "data", copy)
        except shutil.Error:
            continue
        return copy


FAULTS: tuple[type[Fault], ...] = (
    StoreRestarted,
    StorePaused,
    StoreFailedOver,
    StoreFailedOverLagging,
    StoreEmptied,
    StoreRestored,
    StoreClockStepped,
    StoreDiskFull,
    RecordsRestarted,
    RecordsDiskFull,
)
