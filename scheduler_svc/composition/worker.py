# SPDX-License-Identifier: Apache-2.0
"""Builder of a scheduler's worker process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from rpcapi.background import BackgroundLoop
from rpcapi.clients.backport import ConductorBackport
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.daemon import bus_metrics
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from scheduler_svc.composition import endpoints, nova, policy, tasks
from scheduler_svc.composition.nova import NovaBus
from scheduler_svc.composition.scheduling import SchedulingParts
from scheduler_svc.composition.stores import open_partitions
from scheduler_svc.replication import known_hosts
from scheduler_svc.replication.audit_requests import AuditAnnouncer
from scheduler_svc.replication.partition_set import PartitionSet, StoreOpener


@dataclass(frozen=True, slots=True)
class SchedulerWorker:
    """Parts of a worker, not started. ``nova``: server on Nova's bus, None if not configured."""

    transport: Any
    nova: NovaBus | None
    partition_set: PartitionSet
    scheduling: SchedulingParts
    servers: Sequence[Any]
    tasks: Sequence[BackgroundLoop]


def build(conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener) -> SchedulerWorker:
    """Build a worker; send and read nothing yet. Raises BadConfiguration."""
    scheduling_policy = policy.load(conf)
    transport = bus.get_transport(conf)
    conductor = ConductorAPI(conf, transport)
    if conf.store.known_hosts_file is not None:
        known_hosts.read(conf.store.known_hosts_file)  # reports a malformed file now, not after a data loss
    announcer = AuditAnnouncer(conductor, conf.rpc.partition, conf.store.known_hosts_file)
    # One worker per daemon requests audits.
    on_loaded = announcer.request_audits if worker_index == 0 else None
    partition_set = open_partitions(conf, opener, scheduling_policy.reads, on_loaded)
    scheduling = SchedulingParts(conf, partition_set, scheduling_policy)
    servers = endpoints.servers(
        conf,
        transport,
        partition_set,
        scheduling,
        worker=f"{conf.scheduler.host}:{worker_index}",
        on_unverified=announcer.check_unverified,
        serializer=GanttSerializer(ConductorBackport(conductor, conf.executor_thread_pool_size)),
    )
    background = tasks.build(conf, partition_set, opener, worker_index, scheduling)
    background += bus_metrics.tasks(conf, transport, lambda: conf.scheduler.report_interval)
    nova_bus = nova.build(conf, partition_set, scheduling)
    if nova_bus is not None:
        servers.append(nova_bus.server)
        background += nova_bus.tasks
    return SchedulerWorker(transport, nova_bus, partition_set, scheduling, servers, background)
