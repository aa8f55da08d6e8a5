# SPDX-License-Identifier: Apache-2.0
"""Openers of the configured stores."""

from collections.abc import Callable

from oslo_config import cfg

from rpcapi.conf import replicas
from rpcapi.daemon.coordination import CoordinationGroup
from scheduler_svc.composition.scheduling import milliseconds
from scheduler_svc.conf import namespaces, partitions
from scheduler_svc.core.reads import Reads
from scheduler_svc.notifications import changes
from scheduler_svc.nova.bridge import signals
from scheduler_svc.replication.partitions import OpenPartitions, StoreOpener
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.bounded import OPTIONS, store_bounds
from scheduler_svc.store.factory import attach_state_store, open_store
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Liveness


def open_configured(conf: cfg.ConfigOpts, partition: str, wait_seconds: float | None = None) -> Store:
    """Open a partition's configured store. See open_store for ``wait_seconds``. Raises BadConfiguration."""
    store = open_store(
        partitions.url(conf, partition),
        partition,
        durability=conf.store.durability,
        log_length=conf.store.log_length,
        decision_bytes=conf.store.decision_bytes,
        namespaces=(*namespaces.load(conf).stored_names, changes.LEASE_NAMESPACE, signals.NAMESPACE),
        liveness=liveness_source(conf),
        replicas=replicas.from_options(conf.store, partitions.url(conf, partition)),
        max_step_ms=milliseconds(conf.store.max_clock_step),
        wait_seconds=wait_seconds,
    )
    store.bounds = store_bounds(partition, {name: conf.store[option] for name, option in OPTIONS.items()})
    attach_state_store(store, conf.store.state_url, conf.store.state_namespaces)
    return store


class ConfiguredStores:
    """Opener of configured stores; keeps in-memory ones, because a second one would not see the changes."""

    def __init__(self, conf: cfg.ConfigOpts, wait_seconds: float | None = None) -> None:
        self._conf = conf
        self._wait_seconds = wait_seconds
        self._in_memory: dict[str, Store] = {}

    def __call__(self, partition: str) -> Store:
        """Return the store of a partition. Raises BadConfiguration."""
        if partition in self._in_memory:
            return self._in_memory[partition]
        store = open_configured(self._conf, partition, self._wait_seconds)
        if partitions.url(self._conf, partition).startswith("memory:"):
            self._in_memory[partition] = store
        return store


def open_partitions(
    conf: cfg.ConfigOpts,
    opener: StoreOpener,
    reads: Reads,
    on_loaded: Callable[[Replica], None] | None,
    *,
    for_api: bool = False,
) -> OpenPartitions:
    """Open the configured partitions. See OpenPartitions for ``on_loaded``, Replica for ``for_api``."""
    served = partitions.claims_partitions(conf)
    return OpenPartitions.open(
        partitions.names(conf),
        served,
        conf.rpc.partition,
        opener=opener,
        reads=reads,
        on_loaded=on_loaded,
        for_api=for_api,
    )


def liveness_source(conf: cfg.ConfigOpts) -> Liveness:
    """Return the source of hosts' liveness: heartbeats in the store ('beats') or the coordination group ('group')."""
    return "beats" if CoordinationGroup.from_conf(conf, conf.rpc.partition) is None else "group"
