# SPDX-License-Identifier: Apache-2.0
"""Failover under load: the primary is killed or hangs while claims are made and ended."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from redis.crc import key_slot

from devstack.deploy.users.redis_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.redis_cluster import RedisCluster
from rpcapi.conf.replicas import ReplicaAcknowledgement
from scheduler_svc.store.redis.keys import prefix
from tests.functional.failover.load import KEY, RECOVERY_TIMEOUT, Acknowledged, FailoverLoad
from tests.support.clusters.setups import KINDS, FailoverSetup, Kind, running_setup
from tests.support.store.store_partition import poll

Fault = Callable[[FailoverSetup, FailoverLoad], None]

ONE_REPLICA = ReplicaAcknowledgement(1, 1_000)
NO_REPLICA = ReplicaAcknowledgement()
ELSEWHERE = prefix("cell1")  # on another one of three primaries
BYTES = 1_000  # of unreplicated writes: those of several verbs


def has_failed_over(setup: FailoverSetup, old: object) -> bool:
    """Return whether another server is the primary."""
    return setup.primary(KEY) is not old


def hang_primary(setup: FailoverSetup, load: FailoverLoad) -> None:
    """Pause the primary until another one takes over, then resume it."""
    primary = setup.primary(KEY)
    primary.pause()
    poll(lambda: has_failed_over(setup, primary), RECOVERY_TIMEOUT)
    primary.resume()


def kill_primary(setup: FailoverSetup, load: FailoverLoad) -> None:
    """Kill the primary, and restart it when another one has taken over."""
    primary = setup.primary(KEY)
    primary.kill()
    poll(lambda: has_failed_over(setup, primary), RECOVERY_TIMEOUT)
    primary.start()


def kill_primary_ahead_of_replicas(setup: FailoverSetup, load: FailoverLoad, more: int = 0) -> None:
    """Kill the primary when it has unreplicated writes, and ``more`` further claims were acknowledged.

    In a cluster it had the only replica: it is restarted after the failover, as by systemd.
    """
    primary, replicas = setup.primary(KEY), setup.replicas(KEY)
    for replica in replicas:
        replica.pause()
    with primary.client() as client:
        # A replica reads data in a socket's buffer even after the writer was killed
        client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        reached = client.info("replication")["master_repl_offset"]
        if more:
            load.wait_for_progress(more)
        poll(lambda: client.info("replication")["master_repl_offset"] > reached + BYTES, RECOVERY_TIMEOUT)
    primary.kill()
    for replica in replicas:
        replica.resume()
    poll(lambda: has_failed_over(setup, primary), RECOVERY_TIMEOUT)
    if isinstance(setup.group, RedisCluster):
        primary.start()


def move_slot(setup: FailoverSetup, load: FailoverLoad) -> None:
    """Move the partition's slot key by key, as `redis-cli --cluster reshard` does."""
    assert isinstance(setup.group, RedisCluster)
    slot, old = key_slot(KEY.encode()), setup.primary(KEY)
    new = setup.group.owner(ELSEWHERE)
    assert new is not old
    login = ("AUTH2", ADMIN.name, old.passwords.of(ADMIN.name))
    with old.client() as source, new.client() as target:
        ids = [client.execute_command("CLUSTER", "MYID") for client in (source, target)]
        target.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
        source.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
        while keys := source.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source.execute_command("MIGRATE", LOOPBACK, new.port, "", 0, 5_000, *login, "KEYS", *keys)
        for client in (target, source):
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[1])


def run_faults(
    kind: Kind, replicas: ReplicaAcknowledgement, *faults: Fault, binary: Path | None = None
) -> Acknowledged:
    """Run the load through the faults one after the other; return the counts of acknowledged and lost writes."""
    with running_setup(kind, binary=binary) as setup:
        load = FailoverLoad(setup, replicas)
        load.begin()
        for fault in faults:
            load.wait_for_progress()
            before = load.epoch()
            fault(setup, load)
            load.wait_for_progress()
            assert load.epoch() > before
        load.end()
        load.settle()
    assert load.promised.allocated > 0
    return load.promised


@pytest.mark.parametrize("kind", KINDS)
def test_acknowledged_writes_survive_the_primary(kind: Kind) -> None:
    assert run_faults(kind, ONE_REPLICA, kill_primary_ahead_of_replicas).lost_count == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_lost_writes_without_acknowledgement_are_recovered_by_audits(kind: Kind) -> None:
    promised = run_faults(kind, NO_REPLICA, partial(kill_primary_ahead_of_replicas, more=20))
    # Hosts report guests and ends again; lost request records cannot be restored
    assert promised.reasserted > 0 and promised.returned > 0 and promised.forgotten > 0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_hung_primary_resumes_after_failover(kind: Kind) -> None:
    assert run_faults(kind, ONE_REPLICA, hang_primary, hang_primary).lost_count == 0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_failovers_there_and_back(kind: Kind) -> None:
    binary = redis_binary(Flavour.SYSTEM)
    assert run_faults(kind, ONE_REPLICA, kill_primary, kill_primary, kill_primary, binary=binary).lost_count == 0


@pytest.mark.long
def test_slot_migration_to_another_primary() -> None:
    assert run_faults("cluster", ONE_REPLICA, move_slot).lost_count == 0
