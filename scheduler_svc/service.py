# SPDX-License-Identifier: Apache-2.0
"""Worker process of the scheduler: its parts, their start, reload and stop."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.background import BackgroundLoop
from rpcapi.clients.backport import ConductorBackport
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.daemon import bus_metrics, state_report
from rpcapi.daemon.waiting import wait_for
from rpcapi.messaging import bus, foreign_bus
from rpcapi.serializer import GanttSerializer
from scheduler_svc.composition import endpoints, malloc_tuning, nova, policy, tasks
from scheduler_svc.composition.nova import NovaBus
from scheduler_svc.composition.scheduling import SchedulingParts
from scheduler_svc.composition.stores import ConfiguredStores, open_partitions
from scheduler_svc.core import reads
from scheduler_svc.replication import known_hosts
from scheduler_svc.replication.audit_requests import AuditAnnouncer
from scheduler_svc.replication.partitions import StoreOpener

LOG = log.getLogger(__name__)

RENEW_SECONDS = 15.0  # longest wait of a reload for the data that new filters and weighers read


@dataclass(frozen=True, slots=True)
class SchedulerWorker:
    """Parts of a worker, not started. ``nova``: server on Nova's bus, None if not configured."""

    transport: Any
    nova: NovaBus | None
    scheduling: SchedulingParts
    servers: Sequence[Any]
    tasks: Sequence[BackgroundLoop]


def build_worker(conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener) -> SchedulerWorker:
    """Build a worker; send and read nothing yet. Raises BadConfiguration."""
    scheduling_policy = policy.load(conf)
    transport = bus.get_transport(conf)
    conductor = ConductorAPI(conf, transport)
    if conf.store.known_hosts_file is not None:
        known_hosts.read(conf.store.known_hosts_file)  # reports a malformed file now, not after a data loss
    announcer = AuditAnnouncer(conductor, conf.rpc.partition, conf.store.known_hosts_file)
    # One worker per daemon requests audits.
    on_loaded = announcer.request_audits if worker_index == 0 else None
    partitions = open_partitions(conf, opener, scheduling_policy.reads, on_loaded)
    scheduling = SchedulingParts(conf, partitions, scheduling_policy)
    servers = endpoints.servers(
        conf,
        transport,
        scheduling,
        worker=f"{conf.scheduler.host}:{worker_index}",
        on_unverified=announcer.check_unverified,
        serializer=GanttSerializer(ConductorBackport(conductor, conf.executor_thread_pool_size)),
    )
    background = tasks.build(conf, opener, worker_index, scheduling)
    background += bus_metrics.tasks(conf, transport, lambda: conf.scheduler.report_interval)
    nova_bus = nova.build(conf, scheduling)
    if nova_bus is not None:
        servers.append(nova_bus.server)
        background += nova_bus.tasks
    return SchedulerWorker(transport, nova_bus, scheduling, servers, background)


class SchedulerService:
    """Service of topics ``scheduler`` and ``claims.<partition>``. Implements rpcapi.daemon's service protocol."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener | None = None) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener or ConfiguredStores(conf)
        self._stopping = threading.Event()
        self._worker: SchedulerWorker | None = None
        self._servers: list[Any] = []  # started servers

    def start(self) -> None:
        """Load the hosts, then serve. Raises BadConfiguration, and ShutdownRequested if stopped meanwhile."""
        malloc_tuning.keep_freed_memory()
        parts = self._worker = build_worker(self._conf, self._index, self._opener)
        wait_for("The store", parts.scheduling.partitions.load, self._stopping, retry_on=(errors.Unavailable,))
        wait_for(
            "The message bus", partial(bus.connect, parts.transport), self._stopping, retry_on=(errors.Unavailable,)
        )
        if parts.nova is not None:
            wait_for(
                "Nova's message bus",
                partial(foreign_bus.probe, parts.nova.transport),
                self._stopping,
                retry_on=(errors.Unavailable,),
            )
        parts.scheduling.partitions.follow()
        state_report.add_section("Partitions", parts.scheduling.partitions.describe)
        for server in parts.servers:
            server.start()
            self._servers.append(server)
        for task in parts.tasks:
            task.start()
        partitions = parts.scheduling.partitions
        hosts = partitions.own.replica.unchecked_table.hosts
        LOG.info("Worker %d serves %d partitions with %d hosts", self._index, len(partitions), hosts)

    def stop(self) -> None:
        """Stop accepting messages."""
        self._stopping.set()
        for server in self._servers:
            server.stop()

    def wait(self) -> None:
        """Wait until accepted calls are answered and all threads have ended, then close stores and connections."""
        for server in self._servers:
            server.stop()
            server.wait()
        if self._worker is None:
            return
        for task in self._worker.tasks:
            task.stop()
        self._worker.scheduling.partitions.stop()
        for task in self._worker.tasks:
            task.wait()
        self._worker.scheduling.partitions.close()
        self._worker.transport.cleanup()
        if self._worker.nova is not None:
            self._worker.nova.transport.cleanup()

    def reset(self) -> None:
        """Apply the current filters, weighers and intervals.

        Raises BadConfiguration, and StoreUnavailable if the host state for new filters and weighers cannot be read in
        time; the filters and weighers stay unchanged then.
        """
        if self._worker is None:
            return
        new_policy = policy.load(self._conf)
        partitions = self._worker.scheduling.partitions
        table = partitions.own.replica.unchecked_table
        if not reads.covers(table.reads, new_policy.reads):
            table.add_reads(new_policy.reads)
            if not partitions.reload(RENEW_SECONDS):
                raise errors.StoreUnavailable(
                    why=f"it did not return the data of new filters and weighers within {RENEW_SECONDS:.0f} s"
                )
        self._worker.scheduling.current.policy = new_policy
