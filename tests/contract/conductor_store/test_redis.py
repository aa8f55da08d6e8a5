# SPDX-License-Identifier: Apache-2.0
"""Behaviour specific to the Redis store: outages, flushed scripts, permissions, replicas."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.service import _open_store
from conductor.store import keys
from conductor.store.records import StoreTimeouts
from conductor.store.redis import RedisConductorStore
from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from tests.support.conductor.bench import request


@pytest.fixture
def server(make_redis: Callable[..., RedisServer]) -> Iterator[RedisServer]:
    yield make_redis(appendonly="always", users=STORE_USERS)


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisConductorStore]:
    created = RedisConductorStore(server.url("conductor"), StoreTimeouts())
    yield created
    created.close()


def every_verb(store: RedisConductorStore) -> None:
    store.ping()
    store.record(request(), ["a"])
    (lease,) = store.take("me", 1)
    work = store.load(lease)
    store.write(lease, work.instances)
    store.write_without_lease(list(store.get(["a"]).values()), wake=True)
    store.release(lease, None)
    store.requests(["req"])
    store.page(None, 10, deleted=True)
    store.migrations(["m"])
    store.page_migrations(None, 10)
    store.counts()
    store.purge()


def test_service_user_has_exactly_the_needed_permissions(store: RedisConductorStore, server: RedisServer) -> None:
    every_verb(store)
    assert set(server.client().keys("*")) <= set(keys.ALL)
    with server.client("conductor") as client, pytest.raises(Exception, match=r"(?i)no permissions"):
        client.get("gantt:{p:default}:meta")


def test_user_of_another_service_gets_a_clear_error(server: RedisServer) -> None:
    store = RedisConductorStore(server.url("scheduler"))
    with pytest.raises(errors.StoreUnavailable, match="lacks a permission"):
        store.take("me", 1)
    store.close()


def test_flushed_scripts_are_loaded_again(store: RedisConductorStore, server: RedisServer) -> None:
    store.record(request(), ["a"])
    with server.client() as client:
        client.script_flush()
    (lease,) = store.take("me", 1)
    assert [record.uuid for record in store.load(lease).instances] == ["a"]


def test_restarted_server_keeps_acknowledged_writes(store: RedisConductorStore, server: RedisServer) -> None:
    store.record(request(), ["a"])
    server.kill()
    with pytest.raises(errors.StoreUnavailable):
        store.take("me", 1)
    server.start()
    (lease,) = store.take("me", 1)
    assert [record.uuid for record in store.load(lease).instances] == ["a"]


def test_server_without_required_replicas_rejects_writes(
    make_redis: Callable[..., RedisServer], redis_flavour: Path
) -> None:
    server = make_redis(binary=redis_flavour, settings=["min-replicas-to-write 1"])
    store = RedisConductorStore(server.url())
    with pytest.raises(errors.StoreUnavailable, match="NOREPLICAS"):
        store.record(request(), ["a"])
    with server.client() as client:
        assert client.keys("*") == []
    store.close()


def test_write_is_acknowledged_after_replication(make_redis: Callable[..., RedisServer], redis_flavour: Path) -> None:
    server = make_redis(port=free_port(), binary=redis_flavour)
    store = RedisConductorStore(server.url(), replicas=ReplicaAcknowledgement(1, 50))
    with pytest.raises(errors.StoreUnavailable, match="0 of 1 replicas"):
        store.record(request(), ["a"])
    with pytest.raises(errors.NotReplicated, match="0 of 1 replicas"):
        store.check_replicas()
    make_redis(replica_of=server, binary=redis_flavour)
    patient = RedisConductorStore(server.url(), replicas=ReplicaAcknowledgement(1, 5_000))
    assert patient.record(request(), ["a"]) is False  # it stood, and is acknowledged now
    patient.check_replicas()
    for record in (store, patient):
        record.close()


def test_write_waits_for_configured_number_of_replicas(
    make_redis: Callable[..., RedisServer], conf: cfg.ConfigOpts
) -> None:
    conductor_conf.register_opts(conf)
    for name, value in {"url": make_redis().url(), "replicas_acknowledge": 1, "wait_timeout": 0.05}.items():
        conf.set_override(name, value, group="conductor_store")
    store = _open_store(conf)
    with pytest.raises(errors.StoreUnavailable, match="0 of 1 replicas had the write after 50 ms"):
        store.record(request(), ["a"])
    store.close()


def test_replica_is_not_used_for_reads(make_redis: Callable[..., RedisServer], redis_server: RedisServer) -> None:
    store = RedisConductorStore(make_redis(replica_of=redis_server).url())
    with pytest.raises(errors.StoreUnavailable, match="replica"):
        store.get(["a"])
    store.close()


def test_invalid_url_is_a_bad_configuration() -> None:
    with pytest.raises(errors.BadConfiguration, match=r"\[conductor_store\] url"):
        RedisConductorStore("redis://127.0.0.1:port/0")


def test_document_of_newer_schema_is_rejected(store: RedisConductorStore, server: RedisServer) -> None:
    store.record(request(), ["a"])
    with server.client() as client:
        value = str(client.hget(keys.key("instances"), "a"))
        client.hset(keys.key("instances"), "a", value.replace('"schema":1', '"schema":2'))
    with pytest.raises(errors.StoreUnavailable, match="schema 2"):
        store.get(["a"])
