# SPDX-License-Identifier: Apache-2.0
"""Composition root of the conductor: store, clients, server and threads of one process."""

import functools
import os
import threading
import uuid

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from conductor.collaborators import Conductor, ServiceClients
from conductor.collected_selections import CollectingSchedulerAPI
from conductor.conf import quota
from conductor.conf.store import MEMORY
from conductor.endpoints.endpoint import ConductorEndpoint
from conductor.endpoints.hosts import HostEndpoint
from conductor.endpoints.instances import InstanceEndpoint
from conductor.endpoints.maintenance import MaintenanceEndpoint
from conductor.endpoints.moves import MoveEndpoint
from conductor.endpoints.power import PowerEndpoint
from conductor.endpoints.repair import RepairEndpoint
from conductor.maintenance import BINARY, MaintenanceLoop
from conductor.pump import Pump
from conductor.reconciliation.reconciler import RecordReconciler
from conductor.saga.saga import BuildSaga
from conductor.saga.step_context import SagaLimits
from conductor.store.bounds import OPTIONS, record_bounds
from conductor.store.interface import ConductorStore
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from conductor.store.redis import RedisConductorStore
from rpcapi import errors
from rpcapi.background import BackgroundLoop
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.conf import replicas
from rpcapi.daemon import bus_metrics
from rpcapi.daemon.coordination import CoordinationGroup, Membership
from rpcapi.daemon.waiting import ShutdownRequested, wait_for
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer

LOG = log.getLogger(__name__)


class ConductorService:
    """Conductor process with the service protocol of rpcapi.daemon; all conductors share one store."""

    def __init__(self, conf: cfg.ConfigOpts, store: ConductorStore | None = None) -> None:
        self._conf = conf
        self._stopping = threading.Event()
        self._store = store or _open_store(conf)
        self._transport = bus.get_transport(conf)
        self._clients = ServiceClients(
            scheduler=CollectingSchedulerAPI(conf, self._transport),
            compute=ComputeAPI(conf, self._transport),
            claims=functools.cache(lambda partition: ClaimsAPI(conf, self._transport, partition)),
            partition=conf.rpc.partition,
        )
        self._saga = BuildSaga(self._store, self._clients, _limits(conf), self._stopping)
        self._pump = Pump(
            self._store,
            self._saga.advance,
            f"{conf.conductor.host}:{os.getpid()}:{uuid.uuid4().hex[:8]}",
            threads=conf.conductor.threads,
            max_in_flight=conf.conductor.max_in_flight,
            max_building=conf.conductor.max_building,
            interval=conf.conductor.pump_interval,
        )
        bounds = {name: conf.conductor_store[option] for name, option in OPTIONS.items()}
        self._conductor = Conductor(
            self._store,
            self._clients,
            record_bounds(bounds),
            self._pump.wake,
            conf.rpc.max_instances,
            quota.load(conf),
        )
        maintenance = MaintenanceLoop(self._conductor, conf.conductor.host, conf.conductor.report_interval)
        self._reconciler = RecordReconciler(self._conductor, conf.conductor.reconcile_interval)
        self._server: messaging.MessageHandlingServer | None = None
        group = CoordinationGroup.from_conf(conf, conf.rpc.partition)
        membership = [Membership(group, [f"{BINARY}@{conf.conductor.host}"])] if group else []
        measurement = bus_metrics.tasks(conf, self._transport, lambda: conf.conductor.report_interval)
        self._loops: list[BackgroundLoop] = [self._pump, maintenance, self._reconciler, *measurement, *membership]

    def start(self) -> None:
        """Wait for store and bus, then serve and resume unfinished work.

        Raises ShutdownRequested, BadConfiguration.
        """
        wait_for("The conductor's store", self._store.ping, self._stopping, retry_on=(errors.Unavailable,))
        wait_for(
            "The message bus",
            lambda: bus.connect(self._transport),
            self._stopping,
            retry_on=(errors.Unavailable,),
        )
        self._server = bus.get_server(
            self._transport,
            messaging.Target(topic=ConductorAPI.TOPIC, server=self._conf.conductor.host),
            make_endpoints(self._conductor, self._reconciler),
            GanttSerializer(),
        )
        self._server.start()
        if self._stopping.is_set():
            raise ShutdownRequested("The message bus")
        for loop in self._loops:
            loop.start()
        LOG.info("Conductor %s started", self._conf.conductor.host)

    def stop(self) -> None:
        """Stop taking calls and work; a running step finishes, the rest stays in the store."""
        self._stopping.set()
        for loop in self._loops:
            loop.stop()
        if self._server is not None:
            self._server.stop()

    def wait(self) -> None:
        """Wait until accepted calls are answered and leases are released."""
        if self._server is not None:
            self._server.stop()
            self._server.wait()
        for loop in self._loops:
            loop.wait()
        self._transport.cleanup()
        self._store.close()

    def reset(self) -> None:
        """Apply reloaded limits; raises BadConfiguration before any change."""
        self._conductor.limits = quota.load(self._conf)
        self._saga.limits = _limits(self._conf)


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> ConductorService:
    return ConductorService(conf)


def make_endpoints(conductor: Conductor, reconciler: RecordReconciler) -> list[ConductorEndpoint]:
    return [
        InstanceEndpoint(conductor),
        PowerEndpoint(conductor),
        MoveEndpoint(conductor),
        HostEndpoint(conductor),
        RepairEndpoint(conductor, reconciler),
        MaintenanceEndpoint(conductor),
    ]


def _open_store(conf: cfg.ConfigOpts) -> ConductorStore:
    group = conf.conductor_store
    timeouts = StoreTimeouts(
        lease_ms=round(1000 * conf.conductor.lease),
        retention_ms=round(1000 * group.retention),
        max_step_ms=round(1000 * group.max_clock_step),
        repeat_horizon_ms=round(1000 * conf.conductor.repeat_horizon),
    )
    if group.url == MEMORY:
        return MemoryConductorStore(timeouts)
    return RedisConductorStore(
        group.url, timeouts, replicas.from_options(group, group.url), is_durable=group.durability == "always"
    )


def _limits(conf: cfg.ConfigOpts) -> SagaLimits:
    return SagaLimits(
        max_attempts=conf.conductor.max_attempts,
        build_timeout_ms=round(1000 * conf.conductor.build_timeout),
        recast_ms=round(1000 * conf.conductor.recast_interval),
        select_timeout_ms=round(1000 * conf.conductor.select_timeout),
        shelved_offload_ms=1000 * offload_s if (offload_s := conf.conductor.shelved_offload_time) >= 0 else None,
        migrate_max_retries=conf.conductor.migrate_max_retries,
        permits_post_copy=conf.conductor.live_migration_post_copy,
        resize_confirm_ms=round(1000 * window) if (window := conf.conductor.resize_confirm_window) else None,
        call_s=min(conf.rpc.call_timeout, conf.conductor.lease * 2 / 3),
    )
