# SPDX-License-Identifier: Apache-2.0
"""Faults of the partitions' stores and the conductors' store: kill, failover, data loss, full disk, stepped clock."""

import contextlib
import resource
import shutil
import time
from pathlib import Path

import redis

from conductor.store.keys import key
from devstack.lab.chaos.faults.fault import (
    Fault,
    FaultKind,
    Steps,
    draw_records,
    draw_records_and_conductors,
    draw_store,
    limit_files,
)
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.process import poll
from devstack.servers.redis import RedisServer
from devstack.servers.sentinel import SentinelGroup

FAILOVER_SECONDS = 60.0
ROLE_SECONDS, ROLE_POLL = 5.0, 0.5
CLOCK_STEPS_MS = (-2_592_000_000, -3_600_000, 3_600_000, 2_592_000_000)


def restart_store(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Kill the primary, which restarts from its append-only file before a failover."""
    yield restart_primary(group).folder.name
    restore_roles(group)


def suspend_store(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Suspend the primary, for shorter or longer than the sentinels wait."""
    server = group.primary()
    server.pause()
    yield server.folder.name
    server.resume()
    restore_roles(group)


def fail_over(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Kill the primary, which returns as a replica after the failover."""
    old = group.primary()
    old.kill()
    yield f"from {old.folder.name}"
    fault.occurred = _replaced(group, old)


def fail_over_to_lagging_replica(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Fail over to a replica that was cut off before, so that the last writes are lost."""
    old = group.primary()
    with _replica(group, old).client() as client:
        client.execute_command("REPLICAOF", LOOPBACK, str(free_port()))
    lag = fault.chance.uniform(0.2, 2.5)
    time.sleep(lag)
    old.kill()
    yield f"from {old.folder.name}, {lag:.1f} s behind"
    fault.occurred = _replaced(group, old)


def empty_store(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    with fault.cluster.store_client(partition) as client:
        client.flushall()
    yield "all keys"
    restore_roles(group)


def restore_backup(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Restart the store from a copy of its files that is some seconds old."""
    primary = group.primary()
    replica = _replica(group, primary)
    backup = _copied_data(primary)
    age = fault.chance.uniform(0.5, 4.0)
    time.sleep(age)
    for server in (primary, replica):
        server.kill()  # before any data is deleted: sentinels could promote a running replica
    for server in (primary, replica):
        shutil.rmtree(server.folder / "data")
        server.replica_of = None
    backup.rename(primary.folder / "data")
    primary.start()
    yield f"{age:.1f} s old"
    restore_roles(group)


def step_store_clock(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Step the server's clock, simulated by moving the partition's last recorded reading."""
    step_ms = fault.chance.choice(CLOCK_STEPS_MS)
    with fault.cluster.store_client(partition) as client:
        meta = f"gantt:{{p:{partition}}}:meta"
        if client.hexists(meta, "clock"):
            client.hincrby(meta, "clock", -step_ms)
    yield f"by {step_ms // 1000} s"
    restore_roles(group)


def fill_store_disk(fault: Fault, partition: str, group: SentinelGroup) -> Steps:
    """Fill the primary's disk: it refuses writes, but the sentinels still see it up."""
    server = group.primary()
    limit_files(server.pid, 0)
    yield server.folder.name
    limit_files(server.pid, resource.RLIM_INFINITY)
    restore_roles(group)


def restart_records(fault: Fault) -> Steps:
    fault.cluster.records.kill()
    yield "the conductors' store"
    fault.cluster.records.start()


def fill_records_disk(fault: Fault) -> Steps:
    """Fill the disk of the conductors' store, which ends at a failed write, maybe partly in its file."""
    records = fault.cluster.records
    limit_files(records.pid, 0)
    yield "the conductors' store"
    limit_files(records.pid, resource.RLIM_INFINITY)
    has_ended = records.pid is None
    if has_ended:
        records.start()
    fault.occurred = has_ended


def restore_records(fault: Fault) -> Steps:
    """Restore the conductors' store from a copy of its files that is some seconds old (docs/restore-a-backup.md)."""
    cluster, records = fault.cluster, fault.cluster.records
    since = time.monotonic()
    backup = _copied_data(records)
    age = fault.chance.uniform(0.5, 4.0)
    time.sleep(age)
    cluster.without_power.update(cluster.conductors)
    try:
        for name in cluster.conductors:
            cluster.kill_daemon(name)
        records.kill()
        shutil.rmtree(records.folder / "data")
        backup.rename(records.folder / "data")
        records.start()
        with records.client() as client:
            client.hdel(key("meta"), "epoch")
    finally:
        cluster.without_power.difference_update(cluster.conductors)
    fault.forgets_since = since
    yield f"the conductors' store, {age:.1f} s old"
    cluster.revive()


def _replica(group: SentinelGroup, primary: RedisServer) -> RedisServer:
    return next(server for server in group.servers if server is not primary)


def _replaced(group: SentinelGroup, old: RedisServer) -> bool:
    has_changed = poll(lambda: group.primary() is not old, FAILOVER_SECONDS)
    restore_roles(group)
    return has_changed


def restart_primary(group: SentinelGroup) -> RedisServer:
    primary = group.primary()
    primary.kill()
    primary.replica_of = None  # The primary may have started as a replica.
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


FAULTS = (
    FaultKind("store killed and restarted", draw_store, restart_store),
    FaultKind("store suspended", draw_store, suspend_store, (0.2, 4.0)),
    FaultKind("store failed over", draw_store, fail_over),
    FaultKind("store failed over to a lagging replica", draw_store, fail_over_to_lagging_replica, loses_claims=True),
    FaultKind("store emptied", draw_store, empty_store, loses_claims=True),
    FaultKind("store restored from a backup", draw_store, restore_backup, loses_claims=True),
    FaultKind("store's clock stepped", draw_store, step_store_clock),
    FaultKind("store's disk full", draw_store, fill_store_disk, (1.0, 5.0)),
    FaultKind("records killed and restarted", draw_records, restart_records, (0.0, 3.0)),
    FaultKind("records restored from a backup", draw_records_and_conductors, restore_records),
    FaultKind("records' disk full", draw_records, fill_records_disk, (1.0, 5.0)),
)
