# SPDX-License-Identifier: Apache-2.0
"""The conductor's composition root: its store, the clients, the server and the threads of one process."""

import os
import threading
import uuid

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from conductor.conf.store import MEMORY
from conductor.deletion import Deletion
from conductor.endpoints.conductor import ConductorEndpoint
from conductor.instances import Instances
from conductor.peers import Peers, remembered
from conductor.pump import Pump
from conductor.reports import Reports
from conductor.requests import Requests
from conductor.saga.saga import Saga
from conductor.saga.turn import Limits
from conductor.store.interface import Store
from conductor.store.memory import MemoryStore
from conductor.store.records import Terms
from conductor.store.redis import RedisStore
from conductor.upkeep import BINARY, Upkeep
from rpcapi import bus, errors
from rpcapi.claims import ClaimsAPI
from rpcapi.compute import ComputeAPI
from rpcapi.conductor import ConductorAPI
from rpcapi.conf import replicas
from rpcapi.daemon.coordination import Group
from rpcapi.daemon.membership import Membership
from rpcapi.daemon.waiting import Stopped, wait_for
from rpcapi.probe import probe_bus
from rpcapi.scheduler import BusBackend, SchedulerAPI
from rpcapi.serializer import GanttSerializer

LOG = log.getLogger(__name__)


class ConductorService:
    """One conductor; any number of them share one store. The protocol is rpcapi.daemon's."""

    def __init__(self, conf: cfg.ConfigOpts, store: Store | None = None) -> None:
        self._conf = conf
        self._stopping = threading.Event()
        self._store = store or _open_store(conf)
        self._transport = bus.get_transport(conf)
        self._peers = Peers(
            scheduler=SchedulerAPI(conf, self._transport),
            compute=ComputeAPI(conf, self._transport),
            claims=remembered(lambda partition: ClaimsAPI(conf, self._transport, partition)),
            partition=conf.rpc.partition,
        )
        self._saga = Saga(self._store, self._peers, _limits(conf), self._stopping)
        self._pump = Pump(
            self._store,
            self._saga.advance,
            f"{conf.conductor.host}:{os.getpid()}:{uuid.uuid4().hex[:8]}",
            threads=conf.conductor.threads,
            interval=conf.conductor.pump_interval,
            stopping=self._stopping,
        )
        self._upkeep = Upkeep(
            self._store, self._peers.scheduler, conf.conductor.host, conf.conductor.report_interval, self._stopping
        )
        self._server: messaging.MessageHandlingServer | None = None
        group = Group.from_conf(conf, conf.rpc.partition)
        self._membership = Membership(group, [f"{BINARY}@{conf.conductor.host}"]) if group else None

    def start(self) -> None:
        """Wait for store and bus, take up what was left undone, and serve; raises Stopped, BadConfiguration."""
        wait_for("The conductor's store", self._store.ping, self._stopping, away=(errors.Unavailable,))
        wait_for(
            "The message bus",
            lambda: probe_bus(self._transport, BusBackend.TOPIC),
            self._stopping,
            away=(errors.Unavailable,),
        )
        self._server = bus.get_server(
            self._transport,
            messaging.Target(topic=ConductorAPI.TOPIC, server=self._conf.conductor.host),
            [self._endpoint()],
            GanttSerializer(),
        )
        self._server.start()
        if self._stopping.is_set():
            raise Stopped("The message bus")
        self._pump.start()
        self._upkeep.start()
        if self._membership is not None:
            self._membership.start()
        LOG.info("Conductor %s serves", self._conf.conductor.host)

    def stop(self) -> None:
        """Take no more calls and no more work; a step under way is finished, the rest is left in the store."""
        self._stopping.set()
        self._pump.wake()
        if self._membership is not None:
            self._membership.stop()
        if self._server is not None:
            self._server.stop()

    def wait(self) -> None:
        """Return when the calls that were taken are answered and the leases given back."""
        if self._server is not None:
            self._server.stop()
            self._server.wait()
        self._pump.wait()
        self._upkeep.wait()
        if self._membership is not None:
            self._membership.wait()
        self._transport.cleanup()
        self._store.close()

    def reset(self) -> None:
        """Use the limits as they are now."""
        self._saga.limits = _limits(self._conf)

    def _endpoint(self) -> ConductorEndpoint:
        most = self._conf.rpc.max_instances
        return ConductorEndpoint(
            Requests(self._store, self._pump.wake, most),
            Reports(self._store, self._peers, self._pump.wake, most),
            Deletion(self._store, self._pump.wake, most),
            Instances(self._store, most),
            self._peers,
        )


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> ConductorService:
    """Make the service of the daemon's only worker process."""
    return ConductorService(conf)


def _open_store(conf: cfg.ConfigOpts) -> Store:
    lease_ms, retention_ms = round(1000 * conf.conductor.lease), round(1000 * conf.conductor_store.retention)
    terms = Terms(lease_ms=lease_ms, retention_ms=retention_ms)
    url = conf.conductor_store.url
    return MemoryStore(terms) if url == MEMORY else RedisStore(url, terms, replicas.configured(conf.conductor_store))


def _limits(conf: cfg.ConfigOpts) -> Limits:
    return Limits(
        max_attempts=conf.conductor.max_attempts,
        build_timeout_ms=round(1000 * conf.conductor.build_timeout),
        recast_ms=round(1000 * conf.conductor.recast_interval),
        select_timeout_ms=round(1000 * conf.conductor.select_timeout),
        call_s=min(conf.rpc.call_timeout, conf.conductor.lease * 2 / 3),
    )
