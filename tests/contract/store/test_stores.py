# SPDX-License-Identifier: Apache-2.0
"""Opening of configured stores."""

import uuid

import pytest
from oslo_config import cfg

from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition.stores import ConfiguredStores, open_configured
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.bounded import OPTIONS
from scheduler_svc.store.providers.changes import CreateProvider


def test_claims_wait_for_configured_number_of_replicas(conf: cfg.ConfigOpts, redis_server: RedisServer) -> None:
    scheduler_conf.register_opts(conf)
    partition = f"p{uuid.uuid4().hex[:8]}"
    conf.set_override("partition", partition, group="rpc")
    for name, value in {"url": redis_server.url(), "replicas_acknowledge": 1, "wait_timeout": 0.05}.items():
        conf.set_override(name, value, group="store")
    store = open_configured(conf, partition)
    # This server has none
    with pytest.raises(errors.StoreUnavailable, match="0 of 1 replicas had the write after 50 ms"):
        store.abort([ClaimRef("c1", 1)])
    store.close()


def test_configured_bounds_are_those_of_the_store(conf: cfg.ConfigOpts) -> None:
    scheduler_conf.register_opts(conf)
    conf.set_override("url", "memory://", group="store")
    for number, option in enumerate(OPTIONS.values()):
        conf.set_override(option, (1 << 20) + number, group="store")
    store = open_configured(conf, conf.rpc.partition)
    bounds = {name: size.bound for name, size in store.sizes().items()}
    assert bounds == {name: (1 << 20) + number for number, name in enumerate(OPTIONS)}
    store.close()


def test_stores_of_a_partition_in_memory_see_each_others_changes(conf: cfg.ConfigOpts) -> None:
    scheduler_conf.register_opts(conf)
    conf.set_override("url", "memory://", group="store")
    opener = ConfiguredStores(conf)
    store, follower_store = opener("cell"), opener("cell")
    position = follower_store.snapshot().position
    store.change_provider(CreateProvider(names.api_provider("6b6c4c2e-1a3f-4d6e-9c8b-2f1e0d9c8b7a"), "rack"))
    assert follower_store.follow(position, 0)
    assert opener("other").snapshot().providers == {}
