# SPDX-License-Identifier: Apache-2.0
"""The partition's store and the conductors' store: killed, failed over, emptied, restored, with a stepped clock."""

import shutil
import threading
import time
from pathlib import Path

import redis

from devstack.confs import PARTITION
from devstack.lab.chaos.faults.fault import Fault
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer

FAILOVER_SECONDS = 60.0
POLL = 0.05
META = f"gantt:{{p:{PARTITION}}}:meta"


class StoreRestarted(Fault):
    """The primary is killed and starts again from its append-only file, before anybody fails over."""

    KIND = "store killed and restarted"

    def inject(self) -> str:
        primary = self.cluster.store.primary()
        primary.kill()
        primary.start()
        return primary.folder.name


class StorePaused(Fault):
    """The primary is suspended, for less or for longer than the sentinels wait."""

    KIND = "store suspended"
    HOLD = (0.2, 4.0)
    server: RedisServer

    def inject(self) -> str:
        self.server = self.cluster.store.primary()
        self.server.pause()
        return self.server.folder.name

    def heal(self) -> bool:
        self.server.resume()
        _wait_for_replica(self)
        return True


class StoreFailedOver(Fault):
    """The primary is killed, and the sentinels promote the replica; the old primary returns as a replica."""

    KIND = "store failed over"
    old: RedisServer

    def inject(self) -> str:
        self.old = self.cluster.store.primary()
        self.old.kill()
        return f"from {self.old.folder.name}"

    def heal(self) -> bool:
        old = self.old
        new = next(server for server in self.cluster.store.servers if server is not old)
        deadline = time.monotonic() + FAILOVER_SECONDS
        while self.cluster.store.primary() is old or not _is_primary(new):
            if time.monotonic() > deadline:
                raise ServerError(f"the sentinels did not promote {new.folder} within {FAILOVER_SECONDS:g} s")
            time.sleep(POLL)
        new.replica_of, old.replica_of = None, new
        old.start()
        return True


class StoreFailedOverLagging(StoreFailedOver):
    """The replica is cut off from its primary, which is killed later: the last writes are lost."""

    KIND = "store failed over to a lagging replica"

    def inject(self) -> str:
        old = self.old = self.cluster.store.primary()
        replica = next(server for server in self.cluster.store.servers if server is not old)
        with replica.client() as client:
            client.execute_command("REPLICAOF", LOOPBACK, str(free_port()))
        lag = self.chance.uniform(0.2, 2.5)
        threading.Event().wait(lag)
        old.kill()
        return f"from {old.folder.name}, {lag:.1f} s behind"


class StoreEmptied(Fault):
    """All keys of the partition's store are deleted, while it runs."""

    KIND = "store emptied"

    def inject(self) -> str:
        with self.cluster.store_client() as client:
            client.flushall()
        return "all keys"


class StoreRestored(Fault):
    """All servers are stopped, and the primary starts from a copy of its files that is some seconds old."""

    KIND = "store restored from a backup"

    def inject(self) -> str:
        primary = self.cluster.store.primary()
        replica = next(server for server in self.cluster.store.servers if server is not primary)
        backup = _copied_data(primary)
        age = self.chance.uniform(0.5, 4.0)
        threading.Event().wait(age)
        for server in (primary, replica):
            server.kill()
        shutil.rmtree(primary.folder / "data")
        backup.rename(primary.folder / "data")
        shutil.rmtree(replica.folder / "data")
        primary.replica_of, replica.replica_of = None, primary
        primary.start()
        replica.start()
        return f"{age:.1f} s old"


class StoreClockStepped(Fault):
    """The server's clock steps, as the partition sees it: its last recorded reading is moved."""

    KIND = "store's clock stepped"

    def inject(self) -> str:
        step_ms = self.chance.choice((-2_592_000_000, -3_600_000, 3_600_000, 2_592_000_000))
        with self.cluster.store_client() as client:
            if client.hexists(META, "clock"):
                client.hincrby(META, "clock", -step_ms)
        return f"by {step_ms // 1000} s"


class RecordsRestarted(Fault):
    """The conductors' store, which syncs each write, is killed and starts again from its append-only file."""

    KIND = "records killed and restarted"
    HOLD = (0.0, 3.0)

    def inject(self) -> str:
        self.cluster.records.kill()
        return "the conductors' store"

    def heal(self) -> bool:
        self.cluster.records.start()
        return True


def _is_primary(server: RedisServer) -> bool:
    try:
        with server.client() as client:
            return str(client.info("replication")["role"]) == "master"
    except redis.RedisError:
        return False


def _wait_for_replica(fault: Fault) -> None:
    """Wait until one server is the primary and the other has its data."""
    deadline = time.monotonic() + FAILOVER_SECONDS
    while True:
        primary = fault.cluster.store.primary()
        others = [server for server in fault.cluster.store.servers if server is not primary]
        if _is_primary(primary) and all(_follows(server) for server in others):
            primary.replica_of = None
            for server in others:
                server.replica_of = primary
            return
        if time.monotonic() > deadline:
            raise ServerError(f"no replica follows {primary.folder} after {FAILOVER_SECONDS:g} s")
        time.sleep(POLL)


def _follows(server: RedisServer) -> bool:
    try:
        with server.client() as client:
            return client.info("replication").get("master_link_status") == "up"
    except redis.RedisError:
        return False


def _copied_data(server: RedisServer) -> Path:
    """Copy a running server's append-only file; a rewrite meanwhile makes the copy start again."""
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
    RecordsRestarted,
)
