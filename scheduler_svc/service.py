# SPDX-License-Identifier: Apache-2.0
"""The composition root: one worker process of the scheduler."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from rpcapi import bus, claims, errors
from rpcapi.conductor import ConductorAPI
from rpcapi.daemon.waiting import wait_for
from rpcapi.probe import probe_bus
from rpcapi.scheduler import BusBackend
from rpcapi.serializer import GanttSerializer
from scheduler_svc import reads, reaper, shadow
from scheduler_svc.alternates import Alternates
from scheduler_svc.announcer import Announcer
from scheduler_svc.claimer import Claimer
from scheduler_svc.conf import metrics as metrics_conf
from scheduler_svc.conf import namespaces
from scheduler_svc.drivers import driver
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.scheduler import SchedulerEndpoint
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.host_states import HostStates
from scheduler_svc.partitioned import Chooser
from scheduler_svc.periodic import Periodic
from scheduler_svc.replica import Replica
from scheduler_svc.select import Patience, Selector
from scheduler_svc.store import Store, open_store
from scheduler_svc.table.table import HostTable

LOG = log.getLogger(__name__)

BINARY = "gantt-scheduler"
RENEW_SECONDS = 15.0  # of a reload, for reading from the store what new filters and weighers read

Opener = Callable[[cfg.ConfigOpts], Store]


def open_configured(conf: cfg.ConfigOpts) -> Store:
    """Open the store that [store] names; raises BadConfiguration."""
    return open_store(
        conf.store.url,
        conf.rpc.partition,
        durability=conf.store.durability,
        log_length=conf.store.log_length,
        decisions=conf.store.decisions,
        namespaces=namespaces.load(conf).kept,
    )


class SchedulerService:
    """Serves topics ``scheduler`` and ``claims.<partition>``; the protocol is rpcapi.daemon's."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: Opener = open_configured) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener
        self._stopping = threading.Event()
        self._servers: list[Any] = []
        self._periodics: list[Periodic] = []
        self._replica: Replica | None = None
        self._stores: list[Store] = []
        self._transport: Any = None

    def start(self) -> None:
        """Load the hosts and serve; raises BadConfiguration, and Stopped when it was told to stop meanwhile."""
        conf = self._conf
        ranking = driver.load(conf)
        eligibility = _eligibility(conf)
        self._transport = bus.get_transport(conf)
        conductor = ConductorAPI(conf, self._transport)
        # The follower waits in its store for the next change, so it has one of its own.
        store, followed = self._stores = [self._opener(conf), self._opener(conf)]
        announcer = Announcer(conductor)
        self._reads = reads.union([ranking.reads, *(each.reads for each in eligibility)])
        table = HostTable([store.partition], self._reads)
        # One worker of a daemon is enough to tell it.
        told = announcer.look if self._index == 0 else _nobody
        replica = Replica(followed, told, table)
        wait_for("The store", replica.load, self._stopping, away=(errors.Unavailable,))
        wait_for(
            "The message bus",
            lambda: probe_bus(self._transport, ConductorAPI.TOPIC),
            self._stopping,
            away=(errors.Unavailable,),
        )
        self._replica = replica
        shadowing = conf.scheduler.mode == shadow.SHADOW
        claimer: Claimer = shadow.ShadowClaimer(store) if shadowing else store
        selector = Selector(claimer, replica, ranking, _patience(conf), store.record_decision)
        self._selector: Chooser = shadow.ShadowChooser(selector) if shadowing else selector
        preparing = shadow.ShadowAlternates if shadowing else Alternates
        self._alternates: Alternates = preparing(store, replica, eligibility, conf.scheduler.catch_up_timeout)
        replica.start()
        self._serve(store, replica, GanttSerializer(conductor.object_backport_versions))
        self._repeat(store)
        LOG.info("Worker %d serves partition %s with %d hosts", self._index, store.partition, replica.table.hosts)

    def stop(self) -> None:
        """Take no more messages."""
        self._stopping.set()
        for server in self._servers:
            server.stop()

    def wait(self) -> None:
        """Return when what was taken is answered and every thread has ended."""
        for server in self._servers:
            server.stop()
            server.wait()
        threads: list[Periodic | Replica] = [*self._periodics]
        if self._replica is not None:
            threads.append(self._replica)
        for each in threads:
            each.stop()
        for each in threads:
            each.wait()
        for store in self._stores:
            store.close()
        if self._transport is not None:
            self._transport.cleanup()

    def reset(self) -> None:
        """Use the filters, weighers and intervals as they are now; what cannot work leaves all as it was."""
        if self._replica is None:
            return
        try:
            ranking = driver.load(self._conf)
            eligibility = _eligibility(self._conf)
        except errors.BadConfiguration as error:
            LOG.error("Filters and weighers stay as they were: %s", error)
            return
        read = reads.union([ranking.reads, *(each.reads for each in eligibility)])
        table = self._replica.table
        if not reads.covers(table.reads, read):
            table.keep(read)
            if not self._replica.renew(RENEW_SECONDS):
                LOG.error("Filters and weighers stay as they were: the store does not tell what they read")
                return
        self._reads = read
        self._selector.driver = ranking
        self._alternates.filters = eligibility

    def _serve(self, store: Store, replica: Replica, serializer: GanttSerializer) -> None:
        conf = self._conf
        name = f"{conf.scheduler.host}:{self._index}"
        ttl_ms = _milliseconds(conf.scheduler.claim_ttl)
        endpoints = {
            BusBackend.TOPIC: SchedulerEndpoint(
                store,
                selector=self._selector,
                replica=replica,
                states=HostStates(store, namespaces.load(conf)),
                wanted=lambda: reads.wanted(self._reads),
                most_instances=conf.rpc.max_instances,
            ),
            claims.topic(store.partition): ClaimsEndpoint(
                store, self._alternates, ttl_ms, lambda: _milliseconds(conf.store.audit_grace)
            ),
        }
        for topic, endpoint in endpoints.items():
            target = messaging.Target(topic=topic, server=name)
            server = bus.get_server(self._transport, target, [endpoint], serializer)
            server.start()
            self._servers.append(server)

    def _repeat(self, store: Store) -> None:
        conf = self._conf
        tidying = reaper.Reaper(
            store,
            lambda: reaper.Patience(
                _milliseconds(conf.store.service_down_time), _milliseconds(conf.store.tombstone_ttl)
            ),
        )
        self._periodics = [
            Periodic("Reaping", tidying.reap, lambda: conf.store.reap_interval),
            Periodic(
                "Reporting this service",
                lambda: store.heartbeat(conf.scheduler.host, BINARY),
                lambda: conf.scheduler.report_interval,
            ),
        ]
        for each in self._periodics:
            each.start()


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> SchedulerService:
    """Make the service of one worker process."""
    return SchedulerService(conf, worker_index)


def _eligibility(conf: cfg.ConfigOpts) -> Sequence[Filter]:
    return pipeline.build_eligibility(conf.filter_scheduler.enabled_filters, metrics_conf.load(conf))


def _nobody(replica: Replica) -> None:
    """Be told of a load, and tell nobody."""


def _patience(conf: cfg.ConfigOpts) -> Patience:
    group = conf.scheduler
    return Patience(group.rounds, _milliseconds(group.claim_ttl), group.catch_up_timeout)


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
