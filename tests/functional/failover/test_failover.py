# SPDX-License-Identifier: Apache-2.0
"""The primary is killed, or hangs, while claims are made and ended: who goes on, and what is still so afterwards."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from redis.crc import key_slot

from devstack.servers.ports import LOOPBACK
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.redis_cluster import RedisCluster
from devstack.servers.redis_users import ADMIN
from rpcapi.conf.replicas import ReplicaAcknowledgement
from scheduler_svc.store.redis.keys import prefix
from tests.functional.failover.load import KEY, PATIENCE, Load, Promised
from tests.functional.failover.setups import KINDS, Kind, SetUp, running
from tests.unit.scheduler_svc.store.world import poll

Fault = Callable[[SetUp, Load], None]

ONE = ReplicaAcknowledgement(1, 1_000)
NONE = ReplicaAcknowledgement()
ELSEWHERE = prefix("cell1")  # of three primaries it has another one
BYTES = 1_000  # of writes that no replica has: those of several verbs


def took_over(setup: SetUp, old: object) -> bool:
    """Tell whether another server takes the writes."""
    return setup.primary(KEY) is not old


def hang_primary(setup: SetUp, load: Load) -> None:
    """Let it hang until another took over, and then go on with what it believed before."""
    primary = setup.primary(KEY)
    primary.pause()
    poll(lambda: took_over(setup, primary), PATIENCE)
    primary.resume()


def kill_primary(setup: SetUp, load: Load) -> None:
    """Kill it, and start it again when another took over."""
    primary = setup.primary(KEY)
    primary.kill()
    poll(lambda: took_over(setup, primary), PATIENCE)
    primary.start()


def kill_primary_ahead_of_its_replicas(setup: SetUp, load: Load, more: int = 0) -> None:
    """Kill it when it has written what no replica has, and so many claims more were acknowledged.

    In a cluster it had the only replica: it is started again once that took over, as systemd would.
    """
    primary, replicas = setup.primary(KEY), setup.replicas(KEY)
    for replica in replicas:
        replica.pause()
    with primary.client() as client:
        # What is in a socket's buffer a replica reads even after the death of who wrote it
        client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        reached = client.info("replication")["master_repl_offset"]
        if more:
            load.flows(more)
        poll(lambda: client.info("replication")["master_repl_offset"] > reached + BYTES, PATIENCE)
    primary.kill()
    for replica in replicas:
        replica.resume()
    poll(lambda: took_over(setup, primary), PATIENCE)
    if isinstance(setup.group, RedisCluster):
        primary.start()


def move_slot(setup: SetUp, load: Load) -> None:
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


def go_through(kind: Kind, replicas: ReplicaAcknowledgement, *faults: Fault, binary: Path | None = None) -> Promised:
    """Let the load go on through one fault after the other, and return what it was promised, and what of it is lost."""
    with running(kind, binary=binary) as setup:
        load = Load(setup, replicas)
        load.begin()
        for fault in faults:
            load.flows()
            before = load.epoch()
            fault(setup, load)
            load.flows()
            assert load.epoch() > before
        load.end()
        load.settle()
    return load.promised


@pytest.mark.parametrize("kind", KINDS)
def test_what_replicas_acknowledged_survives_the_primary(kind: Kind) -> None:
    assert go_through(kind, ONE, kill_primary_ahead_of_its_replicas).lost == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_without_acknowledgement_the_epoch_and_audits_close_what_was_lost(kind: Kind) -> None:
    promised = go_through(kind, NONE, partial(kill_primary_ahead_of_its_replicas, more=20))
    # Guests and ends were told by the hosts; a request that was forgotten nobody can tell of
    assert promised.reasserted > 0 and promised.returned > 0 and promised.forgotten > 0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_primary_that_hung_goes_on_with_what_it_believed(kind: Kind) -> None:
    assert go_through(kind, ONE, hang_primary, hang_primary).lost == 0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_failovers_there_and_back(kind: Kind) -> None:
    binary = redis_binary(Flavour.SYSTEM)
    assert go_through(kind, ONE, kill_primary, kill_primary, kill_primary, binary=binary).lost == 0


@pytest.mark.long
def test_slot_that_is_moved_to_another_primary() -> None:
    assert go_through("cluster", ONE, move_slot).lost == 0
