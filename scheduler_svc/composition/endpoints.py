# SPDX-License-Identifier: Apache-2.0
"""Builds the RPC servers of a worker."""

from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi.clients import claims
from rpcapi.clients.scheduler import BusBackend
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from scheduler_svc.composition.selection import Selection, milliseconds
from scheduler_svc.conf import namespaces
from scheduler_svc.core import reads
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.scheduler import SchedulerEndpoint
from scheduler_svc.host_state.aggregates import AggregateWriter
from scheduler_svc.host_state.deployment import DeploymentStates
from scheduler_svc.host_state.documents import HostStates
from scheduler_svc.replication.partition_set import PartitionSet
from scheduler_svc.scheduling import extensions


def servers(
    conf: cfg.ConfigOpts,
    transport: Any,
    partition_set: PartitionSet,
    selection: Selection,
    *,
    worker: str,
    serializer: GanttSerializer,
) -> list[Any]:
    """Return the servers of topics ``scheduler`` and ``claims.<partition>``, not started."""
    endpoints: dict[str, Any] = {BusBackend.TOPIC: _scheduler_endpoint(conf, partition_set, selection, worker)}
    ttl_ms = milliseconds(conf.scheduler.claim_ttl)
    for partition, alternates in zip(partition_set.served_partitions, selection.alternates, strict=True):
        endpoints[claims.topic(partition.name)] = ClaimsEndpoint(
            partition.store, alternates, ttl_ms, lambda: milliseconds(conf.store.audit_grace)
        )
    return [
        bus.get_server(transport, messaging.Target(topic=topic, server=worker), [endpoint], serializer)
        for topic, endpoint in endpoints.items()
    ]


def _scheduler_endpoint(
    conf: cfg.ConfigOpts, partition_set: PartitionSet, selection: Selection, worker: str
) -> SchedulerEndpoint:
    partitions, registry = partition_set.partitions, namespaces.load(conf)
    states = {partition.name: HostStates(partition.store, registry) for partition in partitions}
    return SchedulerEndpoint(
        partitions,
        selector=selection.selector,
        states=DeploymentStates(partitions, states),
        aggregates=AggregateWriter(partitions, registry.find("aggregate")),
        get_reported_keys=lambda: reads.required_keys(selection.current.policy.reads),
        max_instances=conf.rpc.max_instances,
        max_requests=conf.solver.max_batch,
        dry_run=selection.dry_run,
        filters=lambda kind: extensions.list_entries(selection.current.policy.driver, kind),
        worker=worker,
    )
