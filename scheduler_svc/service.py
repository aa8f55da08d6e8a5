# SPDX-License-Identifier: Apache-2.0
"""The composition root: one worker process of the scheduler."""

import threading
from collections.abc import Sequence
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
from scheduler_svc import reads, reaper
from scheduler_svc.aggregate_watch import AggregateWatch
from scheduler_svc.conf import filters as filters_conf
from scheduler_svc.conf import metrics as metrics_conf
from scheduler_svc.conf import namespaces
from scheduler_svc.conf import prefilters as prefilters_conf
from scheduler_svc.conf import weighers as weighers_conf
from scheduler_svc.deciding import shadow
from scheduler_svc.deciding.alternates import Alternates
from scheduler_svc.deciding.batch import BatchSelector
from scheduler_svc.deciding.claimer import Claimer
from scheduler_svc.deciding.dry_run import DryRun
from scheduler_svc.deciding.intake import Intake, IntakeChooser
from scheduler_svc.deciding.partitioned import Chooser, PartitionedSelector
from scheduler_svc.deciding.select import Patience, Selector
from scheduler_svc.drivers import choice, driver
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.scheduler import SchedulerEndpoint
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.following.announcer import Announcer
from scheduler_svc.hosts.aggregates import Aggregates
from scheduler_svc.hosts.deployment_states import DeploymentStates
from scheduler_svc.hosts.host_states import HostStates
from scheduler_svc.notifications.publishers import Publishers
from scheduler_svc.opening import Opened, Opener, open_configured
from scheduler_svc.partitions import Partition, Partitions
from scheduler_svc.periodic import Periodic
from scheduler_svc.plugins import catalogue, loading
from scheduler_svc.prefilters import pipeline as prefilter_pipeline
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.servicegroup import liveness
from scheduler_svc.store.reports import service_name

LOG = log.getLogger(__name__)

BINARY = "gantt-scheduler"
RENEW_SECONDS = 15.0  # of a reload, for reading from the store what new filters and weighers read


class SchedulerService:
    """Serves topics ``scheduler`` and ``claims.<partition>``; the protocol is rpcapi.daemon's."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: Opener = open_configured) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener
        self._stopping = threading.Event()
        self._servers: list[Any] = []
        self._periodics: list[Periodic] = []
        self._opened: Opened | None = None
        self._liveness: liveness.GroupLiveness | None = None
        self._publishers: Publishers | None = None
        self._transport: Any = None

    def start(self) -> None:
        """Load the hosts and serve; raises BadConfiguration, and Stopped when it was told to stop meanwhile."""
        conf = self._conf
        ranking = choice.load(conf)
        eligibility = _eligibility(conf)
        prefilters = _prefilters(conf)
        self._transport = bus.get_transport(conf)
        conductor = ConductorAPI(conf, self._transport)
        self._reads = _reads(ranking, eligibility, prefilters)
        # One worker of a daemon is enough to tell it.
        told = Announcer(conductor).look if self._index == 0 else None
        opened = self._opened = Opened(conf, self._opener, self._reads, told)
        wait_for("The store", opened.load, self._stopping, away=(errors.Unavailable,))
        wait_for(
            "The message bus",
            lambda: probe_bus(self._transport, ConductorAPI.TOPIC),
            self._stopping,
            away=(errors.Unavailable,),
        )
        self._intake = Intake(opened.partitions, prefilters)
        self._selector = self._make_selector(opened.partitions, ranking)
        self._dry_run = self._make_dry_run(opened.partitions, ranking)
        self._alternates = [self._make_alternates(each, eligibility) for each in opened.served]
        opened.follow()
        self._serve(opened, GanttSerializer(conductor.object_backport_versions))
        self._repeat(opened)
        hosts = opened.partitions.own.replica.whole.hosts
        LOG.info("Worker %d serves %d partitions with %d hosts", self._index, len(opened.partitions), hosts)

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
        for more in (self._liveness, self._publishers):
            if more is not None:
                more.stop()
        for each in self._periodics:
            each.stop()
        if self._opened is not None:
            self._opened.stop()
        for each in self._periodics:
            each.wait()
        for more in (self._liveness, self._publishers):
            if more is not None:
                more.wait()
        if self._opened is not None:
            self._opened.close()
        if self._transport is not None:
            self._transport.cleanup()

    def reset(self) -> None:
        """Use the filters, weighers and intervals as they are now; what cannot work leaves all as it was."""
        if self._opened is None:
            return
        try:
            metrics_conf.check(self._conf)  # a process that starts with it would end
            ranking = choice.load(self._conf)
            eligibility = _eligibility(self._conf)
            prefilters = _prefilters(self._conf)
        except errors.BadConfiguration as error:
            LOG.error("Filters and weighers stay as they were: %s", error)
            return
        read = _reads(ranking, eligibility, prefilters)
        table = self._opened.partitions.own.replica.whole
        if not reads.covers(table.reads, read):
            table.keep(read)
            if not self._opened.renew(RENEW_SECONDS):
                LOG.error("Filters and weighers stay as they were: the store does not tell what they read")
                return
        self._reads = read
        self._selector.driver = self._dry_run.driver = ranking
        self._intake.prefilters = prefilters
        for each in self._alternates:
            each.filters = eligibility

    def _make_selector(self, partitions: Partitions, ranking: driver.Driver) -> Chooser:
        conf, patience = self._conf, _patience(self._conf)
        shadowing = conf.scheduler.mode == shadow.SHADOW

        def make(each: Partition) -> Selector:
            claimer: Claimer = shadow.ShadowClaimer(each.store) if shadowing else each.store
            return Selector(claimer, each.replica, ranking, patience, each.store.record_decision)

        several = len(partitions) > 1
        chooser: Chooser = (
            PartitionedSelector(partitions, make, conf.scheduler.claim_ttl)
            if several
            else BatchSelector(make(partitions.own), conf.solver.window / 1000, conf.solver.max_batch)
        )
        chooser = IntakeChooser(chooser, self._intake, partitions)
        return shadow.ShadowChooser(chooser) if shadowing else chooser

    def _make_dry_run(self, partitions: Partitions, ranking: driver.Driver) -> DryRun:
        patience = _patience(self._conf)
        selectors = [Selector(each.store, each.replica, ranking, patience) for each in partitions]
        return DryRun(partitions, selectors, self._intake)

    def _make_alternates(self, partition: Partition, eligibility: Sequence[Filter]) -> Alternates:
        kind = shadow.ShadowAlternates if self._conf.scheduler.mode == shadow.SHADOW else Alternates
        patience = self._conf.scheduler.catch_up_timeout
        return kind(partition.store, partition.replica, eligibility, patience, self._intake.take)

    def _serve(self, opened: Opened, serializer: GanttSerializer) -> None:
        conf = self._conf
        name = f"{conf.scheduler.host}:{self._index}"
        registry = namespaces.load(conf)
        states = {each.name: HostStates(each.store, registry) for each in opened.partitions}
        endpoints: dict[str, Any] = {
            BusBackend.TOPIC: SchedulerEndpoint(
                opened.partitions,
                selector=self._selector,
                states=DeploymentStates(opened.partitions, states),
                aggregates=Aggregates(opened.partitions, registry.find("aggregate")),
                wanted=lambda: reads.wanted(self._reads),
                most_instances=conf.rpc.max_instances,
                most_requests=conf.solver.max_batch,
                dry_run=self._dry_run,
                filters=lambda kind: catalogue.listed(self._dry_run.driver, kind),
                worker=name,
            ),
        }
        ttl_ms = _milliseconds(conf.scheduler.claim_ttl)
        for partition, alternates in zip(opened.served, self._alternates, strict=True):
            endpoints[claims.topic(partition.name)] = ClaimsEndpoint(
                partition.store, alternates, ttl_ms, lambda: _milliseconds(conf.store.audit_grace)
            )
        for topic, endpoint in endpoints.items():
            target = messaging.Target(topic=topic, server=name)
            server = bus.get_server(self._transport, target, [endpoint], serializer)
            server.start()
            self._servers.append(server)

    def _repeat(self, opened: Opened) -> None:
        conf = self._conf

        def patience() -> reaper.Patience:
            dead_after_ms = _milliseconds(conf.store.service_down_time) if liveness.told_by(conf) == "beats" else None
            return reaper.Patience(dead_after_ms, _milliseconds(conf.store.tombstone_ttl))

        self._periodics = [
            Periodic(f"Reaping {each.name}", reaper.Reaper(each.store, patience).reap, lambda: conf.store.reap_interval)
            for each in opened.served
        ]
        own = opened.partitions.own.store
        self._periodics.append(
            Periodic(
                "Reporting this service",
                lambda: own.heartbeat(conf.scheduler.host, BINARY),
                lambda: conf.scheduler.report_interval,
            )
        )
        if self._index == 0:
            watch = AggregateWatch(lambda: opened.partitions.own.replica.whole, weighers_conf.AGGREGATE_OPTIONS)
            self._periodics.append(Periodic("Reading aggregates", watch.look, lambda: conf.scheduler.report_interval))
        for each in self._periodics:
            each.start()
        name, stores = service_name(conf.scheduler.host, BINARY), [each.store for each in opened.served]
        self._liveness = liveness.GroupLiveness(conf, stores, name, looks=self._index == 0)
        self._liveness.start()
        if self._index == 0:
            self._publishers = Publishers(conf, [each.name for each in opened.served], self._opener)
            self._publishers.start()


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> SchedulerService:
    """Make the service of one worker process."""
    return SchedulerService(conf, worker_index)


def _eligibility(conf: cfg.ConfigOpts) -> Sequence[Filter]:
    names, options = filters_conf.enabled(conf), filters_conf.load(conf)
    return pipeline.build_eligibility(names, options, loading.filters(conf))


def _prefilters(conf: cfg.ConfigOpts) -> Sequence[Prefilter]:
    return prefilter_pipeline.build(prefilters_conf.load(conf))


def _reads(ranking: driver.Driver, eligibility: Sequence[Filter], prefilters: Sequence[Prefilter]) -> reads.Reads:
    return reads.union([ranking.reads, *(each.reads for each in eligibility), *(each.reads for each in prefilters)])


def _patience(conf: cfg.ConfigOpts) -> Patience:
    group = conf.scheduler
    return Patience(group.rounds, _milliseconds(group.claim_ttl), group.catch_up_timeout)


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
