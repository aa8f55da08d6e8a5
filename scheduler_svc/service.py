# SPDX-License-Identifier: Apache-2.0
"""Composition root of the scheduler: one worker process."""

import threading
from collections.abc import Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.background import Periodic
from rpcapi.clients import claims
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import BusBackend
from rpcapi.daemon.waiting import wait_for
from rpcapi.messaging import bus
from rpcapi.messaging.probe import probe_bus
from rpcapi.serializer import GanttSerializer
from scheduler_svc.conf import filters as filters_conf
from scheduler_svc.conf import metrics as metrics_conf
from scheduler_svc.conf import namespaces
from scheduler_svc.conf import prefilters as prefilters_conf
from scheduler_svc.conf import weighers as weighers_conf
from scheduler_svc.core import reads
from scheduler_svc.core.drivers import choice, driver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.plugins import loading
from scheduler_svc.core.prefilters import pipeline as prefilter_pipeline
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.scheduler import SchedulerEndpoint
from scheduler_svc.host_state.aggregate_warnings import AggregateMetadataChecker
from scheduler_svc.host_state.aggregates import AggregateWriter
from scheduler_svc.host_state.deployment import DeploymentStates
from scheduler_svc.host_state.documents import HostStates
from scheduler_svc.notifications.publishers import NotificationPublishers
from scheduler_svc.replication import reaper
from scheduler_svc.replication.audit_requests import AuditAnnouncer
from scheduler_svc.replication.opening import PartitionSet, StoreOpener, open_configured
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.replication.servicegroup import liveness
from scheduler_svc.scheduling import extensions, shadow
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.batch import BatchSelector
from scheduler_svc.scheduling.claimer import Claimer
from scheduler_svc.scheduling.dry_run import DryRun
from scheduler_svc.scheduling.intake import RequestRewriter, RewritingSelector
from scheduler_svc.scheduling.partitioned import HostSelector, PartitionedSelector
from scheduler_svc.scheduling.selector import RetryLimits, Selector
from scheduler_svc.store.reports import service_name

LOG = log.getLogger(__name__)

BINARY = "gantt-scheduler"
RENEW_SECONDS = 15.0  # time-out of a reload of the data that new filters and weighers read


class SchedulerService:
    """Serves topics ``scheduler`` and ``claims.<partition>``. Implements the service protocol of rpcapi.daemon."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener = open_configured) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener
        self._stopping = threading.Event()
        self._servers: list[Any] = []
        self._periodics: list[Periodic] = []
        self._partition_set: PartitionSet | None = None
        self._liveness: liveness.GroupLiveness | None = None
        self._publishers: NotificationPublishers | None = None
        self._transport: Any = None

    def start(self) -> None:
        """Load the hosts and serve; raises BadConfiguration, and ShutdownRequested when it is stopped meanwhile."""
        conf = self._conf
        ranking = choice.load(conf)
        eligibility = _eligibility(conf)
        prefilters = _prefilters(conf)
        self._transport = bus.get_transport(conf)
        conductor = ConductorAPI(conf, self._transport)
        self._reads = _reads(ranking, eligibility, prefilters)
        # One worker of a daemon is enough to request audits.
        on_loaded = AuditAnnouncer(conductor).request_audits if self._index == 0 else None
        partition_set = self._partition_set = PartitionSet(conf, self._opener, self._reads, on_loaded)
        wait_for("The store", partition_set.load, self._stopping, retry_on=(errors.Unavailable,))
        wait_for(
            "The message bus",
            lambda: probe_bus(self._transport, ConductorAPI.TOPIC),
            self._stopping,
            retry_on=(errors.Unavailable,),
        )
        self._intake = RequestRewriter(partition_set.partitions, prefilters)
        self._selector = self._make_selector(partition_set.partitions, ranking)
        self._dry_run = self._make_dry_run(partition_set.partitions, ranking)
        self._alternates = [
            self._make_alternate_claimer(partition, eligibility) for partition in partition_set.served_partitions
        ]
        partition_set.follow()
        self._serve(partition_set, GanttSerializer(conductor.object_backport_versions))
        self._start_periodics(partition_set)
        hosts = partition_set.partitions.own.replica.unchecked_table.hosts
        LOG.info("Worker %d serves %d partitions with %d hosts", self._index, len(partition_set.partitions), hosts)

    def stop(self) -> None:
        """Accept no more messages."""
        self._stopping.set()
        for server in self._servers:
            server.stop()

    def wait(self) -> None:
        """Wait until accepted calls are answered and every thread has ended."""
        for server in self._servers:
            server.stop()
            server.wait()
        for component in (self._liveness, self._publishers):
            if component is not None:
                component.stop()
        for periodic in self._periodics:
            periodic.stop()
        if self._partition_set is not None:
            self._partition_set.stop()
        for periodic in self._periodics:
            periodic.wait()
        for component in (self._liveness, self._publishers):
            if component is not None:
                component.wait()
        if self._partition_set is not None:
            self._partition_set.close()
        if self._transport is not None:
            self._transport.cleanup()

    def reset(self) -> None:
        """Apply the current filters, weighers and intervals; an invalid configuration changes nothing."""
        if self._partition_set is None:
            return
        try:
            metrics_conf.check(self._conf)  # at start this error would end the process
            ranking = choice.load(self._conf)
            eligibility = _eligibility(self._conf)
            prefilters = _prefilters(self._conf)
        except errors.BadConfiguration as error:
            LOG.error("Reload failed, filters and weighers stay unchanged: %s", error)
            return
        new_reads = _reads(ranking, eligibility, prefilters)
        table = self._partition_set.partitions.own.replica.unchecked_table
        if not reads.covers(table.reads, new_reads):
            table.add_reads(new_reads)
            if not self._partition_set.reload(RENEW_SECONDS):
                LOG.error(
                    "Reload failed, filters and weighers stay unchanged: reading their data from the store timed out"
                )
                return
        self._reads = new_reads
        self._selector.driver = self._dry_run.driver = ranking
        self._intake.prefilters = prefilters
        for alternate_claimer in self._alternates:
            alternate_claimer.filters = eligibility

    def _make_selector(self, partitions: OpenPartitions, ranking: driver.Driver) -> HostSelector:
        conf, limits = self._conf, _retry_limits(self._conf)
        shadowing = conf.scheduler.mode == shadow.SHADOW

        def make(partition: OpenPartition) -> Selector:
            claimer: Claimer = shadow.ShadowClaimer(partition.store) if shadowing else partition.store
            return Selector(claimer, partition.replica, ranking, limits, partition.store.record_decision)

        several = len(partitions) > 1
        chooser: HostSelector = (
            PartitionedSelector(partitions, make, conf.scheduler.claim_ttl)
            if several
            else BatchSelector(make(partitions.own), conf.solver.window / 1000, conf.solver.max_batch)
        )
        chooser = RewritingSelector(chooser, self._intake, partitions)
        return shadow.ShadowSelector(chooser) if shadowing else chooser

    def _make_dry_run(self, partitions: OpenPartitions, ranking: driver.Driver) -> DryRun:
        limits = _retry_limits(self._conf)
        selectors = [Selector(partition.store, partition.replica, ranking, limits) for partition in partitions]
        return DryRun(partitions, selectors, self._intake)

    def _make_alternate_claimer(self, partition: OpenPartition, eligibility: Sequence[Filter]) -> AlternateClaimer:
        claimer_class = (
            shadow.ShadowAlternateClaimer if self._conf.scheduler.mode == shadow.SHADOW else AlternateClaimer
        )
        catch_up_timeout = self._conf.scheduler.catch_up_timeout
        return claimer_class(partition.store, partition.replica, eligibility, catch_up_timeout, self._intake.rewrite)

    def _serve(self, partition_set: PartitionSet, serializer: GanttSerializer) -> None:
        conf = self._conf
        name = f"{conf.scheduler.host}:{self._index}"
        registry = namespaces.load(conf)
        states = {partition.name: HostStates(partition.store, registry) for partition in partition_set.partitions}
        endpoints: dict[str, Any] = {
            BusBackend.TOPIC: SchedulerEndpoint(
                partition_set.partitions,
                selector=self._selector,
                states=DeploymentStates(partition_set.partitions, states),
                aggregates=AggregateWriter(partition_set.partitions, registry.find("aggregate")),
                get_reported_keys=lambda: reads.required_keys(self._reads),
                max_instances=conf.rpc.max_instances,
                max_requests=conf.solver.max_batch,
                dry_run=self._dry_run,
                filters=lambda kind: extensions.list_entries(self._dry_run.driver, kind),
                worker=name,
            ),
        }
        ttl_ms = _milliseconds(conf.scheduler.claim_ttl)
        for partition, alternates in zip(partition_set.served_partitions, self._alternates, strict=True):
            endpoints[claims.topic(partition.name)] = ClaimsEndpoint(
                partition.store, alternates, ttl_ms, lambda: _milliseconds(conf.store.audit_grace)
            )
        for topic, endpoint in endpoints.items():
            target = messaging.Target(topic=topic, server=name)
            server = bus.get_server(self._transport, target, [endpoint], serializer)
            server.start()
            self._servers.append(server)

    def _start_periodics(self, partition_set: PartitionSet) -> None:
        conf = self._conf

        def limits() -> reaper.ReapLimits:
            dead_after_ms = (
                _milliseconds(conf.store.service_down_time) if liveness.get_liveness_source(conf) == "beats" else None
            )
            return reaper.ReapLimits(dead_after_ms, _milliseconds(conf.store.tombstone_ttl))

        self._periodics = [
            Periodic(
                f"Reaping {partition.name}",
                reaper.Reaper(partition.store, limits).reap,
                lambda: conf.store.reap_interval,
            )
            for partition in partition_set.served_partitions
        ]
        own = partition_set.partitions.own.store
        self._periodics.append(
            Periodic(
                "Reporting this service",
                lambda: own.heartbeat(conf.scheduler.host, BINARY),
                lambda: conf.scheduler.report_interval,
            )
        )
        if self._index == 0:
            watch = AggregateMetadataChecker(
                lambda: partition_set.partitions.own.replica.unchecked_table, weighers_conf.AGGREGATE_OPTIONS
            )
            self._periodics.append(Periodic("Reading aggregates", watch.check, lambda: conf.scheduler.report_interval))
        for periodic in self._periodics:
            periodic.start()
        name, stores = (
            service_name(conf.scheduler.host, BINARY),
            [partition.store for partition in partition_set.served_partitions],
        )
        self._liveness = liveness.GroupLiveness(conf, stores, name, polls=self._index == 0)
        self._liveness.start()
        if self._index == 0:
            self._publishers = NotificationPublishers(
                conf, [partition.name for partition in partition_set.served_partitions], self._opener
            )
            self._publishers.start()


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> SchedulerService:
    """Create the service of one worker process."""
    return SchedulerService(conf, worker_index)


def _eligibility(conf: cfg.ConfigOpts) -> Sequence[Filter]:
    names, options = filters_conf.enabled(conf), filters_conf.load(conf)
    return pipeline.build_eligibility(names, options, loading.filters(conf))


def _prefilters(conf: cfg.ConfigOpts) -> Sequence[Prefilter]:
    return prefilter_pipeline.build(prefilters_conf.load(conf))


def _reads(ranking: driver.Driver, eligibility: Sequence[Filter], prefilters: Sequence[Prefilter]) -> reads.Reads:
    return reads.union(
        [ranking.reads, *(plugin.reads for plugin in eligibility), *(plugin.reads for plugin in prefilters)]
    )


def _retry_limits(conf: cfg.ConfigOpts) -> RetryLimits:
    group = conf.scheduler
    return RetryLimits(group.rounds, _milliseconds(group.claim_ttl), group.catch_up_timeout)


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
