# SPDX-License-Identifier: Apache-2.0
"""Sizes of a partition in Redis: which keys they have, and the permissions that they need."""

from collections.abc import Callable

import redis

from conductor.store.redis import RedisConductorStore
from devstack.deploy.users.redis_users import CONDUCTOR, SCHEDULER, STORE_USERS
from devstack.servers.redis import RedisServer
from rpcapi.redis_failover.memory_usage import ALL_KEYS, COUNTS, key_type
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import KEYS
from scheduler_svc.store.redis.sizes import WORDS


def test_every_key_that_grows_is_in_one_collection() -> None:
    words = [word for collection in WORDS.values() for word in collection]
    assert sorted([*words, "acknowledged", "meta", "state"]) == sorted(KEYS)


def test_every_key_has_a_type_that_can_be_counted() -> None:
    words = [word for collection in WORDS.values() for word in collection]
    assert {key_type(KEYS[word]) for word in [*words, "state"]} <= COUNTS.keys()


def test_services_measure_with_the_permissions_of_their_users(make_redis: Callable[..., RedisServer]) -> None:
    server = make_redis(users=STORE_USERS)
    store = RedisStore(server.url(SCHEDULER.name), "p", namespaces=["rack"])
    store.check_identity()
    assert store.sizes()["log"].entries == 1
    store.trim_log(0)
    assert store.sizes()["log"].entries == 0
    store.close()
    records = RedisConductorStore(server.url(CONDUCTOR.name))
    assert records.sizes()["records"].entries == 0
    records.close()


def test_bound_of_all_keys_is_the_memory_that_the_server_may_use(make_redis: Callable[..., RedisServer]) -> None:
    server = make_redis()
    client = redis.Redis.from_url(server.url())
    store = RedisStore(server.url(), "p")
    store.check_identity()
    records = RedisConductorStore(server.url())
    records.sizes()
    machine = store.sizes()[ALL_KEYS]
    info = client.info("memory")
    assert machine.entries == client.dbsize() > 0
    assert machine.bound == info["total_system_memory"] > machine.bytes > 1 << 20

    client.config_set("maxmemory", 100 << 20)
    for size in (store.sizes()[ALL_KEYS], records.sizes()[ALL_KEYS]):
        assert (size.entries, size.bound, size.is_full) == (client.dbsize(), 100 << 20, False)
    client.config_set("maxmemory", 1)
    assert store.sizes()[ALL_KEYS].is_full
    records.close()
    store.close()
    client.close()
