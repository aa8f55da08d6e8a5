# SPDX-License-Identifier: Apache-2.0
"""The primary is killed, or hangs, while claims are made and ended: who goes on, and what is still so afterwards."""

from pathlib import Path

import pytest
from redis.crc import key_slot

from devstack.servers.ports import LOOPBACK
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.redis_cluster import RedisCluster
from devstack.servers.redis_users import ADMIN
from rpcapi.conf.replicas import Replicas
from scheduler_svc.store.redis.keys import prefix
from tests.functional.failover.load import KEY, PATIENCE, Load
from tests.functional.failover.setups import KINDS, Kind, SetUp, running
from tests.unit.scheduler_svc.store.world import poll

ONE = Replicas(1, 1_000)
NONE = Replicas()
ELSEWHERE = prefix("cell1")  # of three primaries it has another one
BYTES = 1_000  # of writes that no replica has: those of several verbs


def took_over(setup: SetUp, old: object) -> bool:
    """Tell whether another server takes the writes."""
    return setup.primary(KEY) is not old


def hang_primary(setup: SetUp) -> None:
    """Let it hang until another took over, and then go on with what it believed before."""
    primary = setup.primary(KEY)
    primary.pause()
    poll(lambda: took_over(setup, primary), PATIENCE)
    primary.resume()


def kill_primary_ahead_of_its_replicas(setup: SetUp, load: Load, more: int) -> None:
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


@pytest.mark.parametrize("kind", KINDS)
def test_what_replicas_acknowledged_survives_the_primary(kind: Kind) -> None:
    with running(kind) as setup:
        load = Load(setup, ONE)
        load.begin()
        load.flows()
        before = load.epoch()
        kill_primary_ahead_of_its_replicas(setup, load, more=0)
        load.flows()
        assert load.epoch() > before
        load.end()
        load.settle()
        assert (load.promised.reasserted, load.promised.returned, load.lost_requests()) == (0, 0, set())


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_without_acknowledgement_the_epoch_and_audits_close_what_was_lost(kind: Kind) -> None:
    with running(kind) as setup:
        load = Load(setup, NONE)
        load.begin()
        load.flows()
        before = load.epoch()
        kill_primary_ahead_of_its_replicas(setup, load, more=20)
        load.flows()
        assert load.epoch() > before
        load.end()
        load.settle()
        # Guests and ends were told by the hosts; a request that was forgotten nobody can tell of
        assert load.promised.reasserted > 0 and load.promised.returned > 0 and load.lost_requests()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_primary_that_hung_goes_on_with_what_it_believed(kind: Kind) -> None:
    with running(kind) as setup:
        load = Load(setup, ONE)
        load.begin()
        for _ in range(2):
            load.flows()
            hang_primary(setup)
            load.flows()
        load.end()
        load.settle()
        assert (load.promised.reasserted, load.promised.returned, load.lost_requests()) == (0, 0, set())


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_failovers_there_and_back(kind: Kind) -> None:
    binary: Path = redis_binary(Flavour.SYSTEM)
    with running(kind, binary=binary) as setup:
        load = Load(setup, ONE)
        load.begin()
        for _ in range(3):
            load.flows()
            before = load.epoch()
            primary = setup.primary(KEY)
            primary.kill()
            poll(lambda primary=primary: took_over(setup, primary), PATIENCE)
            primary.start()
            load.flows()
            assert load.epoch() > before
        load.end()
        load.settle()
        assert (load.promised.reasserted, load.promised.returned, load.lost_requests()) == (0, 0, set())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_slot_that_is_moved_to_another_primary() -> None:
    with running("cluster") as setup:
        load = Load(setup, ONE)
        load.begin()
        load.flows()
        before = load.epoch()
        move_slot(setup)
        load.flows()
        assert load.epoch() > before
        load.end()
        load.settle()
        assert (load.promised.reasserted, load.promised.returned, load.lost_requests()) == (0, 0, set())


def move_slot(setup: SetUp) -> None:
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
