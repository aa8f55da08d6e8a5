# SPDX-License-Identifier: Apache-2.0
"""Builder of a worker's RPC servers."""

from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi.clients import claims
from rpcapi.clients.scheduler import BusBackend
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from scheduler_svc.composition.scheduling import SchedulingParts, milliseconds
from scheduler_svc.conf import namespaces
from scheduler_svc.core import reads
from scheduler_svc.endpoints.claims import ClaimsEndpoint, UnverifiedHandler
from scheduler_svc.endpoints.decisions import DecisionsEndpoint
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.endpoints.nova_audit import NovaAuditEndpoint
from scheduler_svc.endpoints.selection import SelectionEndpoint
from scheduler_svc.endpoints.server_groups import ServerGroupEndpoint
from scheduler_svc.host_state.aggregates import AggregateWriter
from scheduler_svc.host_state.documents import HostStates
from scheduler_svc.host_state.stamps import StampSigner
from scheduler_svc.scheduling import extensions
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts


def servers(
    conf: cfg.ConfigOpts,
    transport: Any,
    scheduling: SchedulingParts,
    *,
    worker: str,
    on_unverified: UnverifiedHandler,
    serializer: GanttSerializer,
) -> list[Any]:
    """Build the servers of topics ``scheduler`` and ``claims.<partition>`` without starting them."""
    endpoints: dict[str, list[Any]] = {BusBackend.TOPIC: _scheduler_endpoints(conf, scheduling, worker)}
    ttl_ms, stamps = milliseconds(conf.scheduler.claim_ttl), StampSigner(conf.scheduler.stamp_key)
    earlier_attempts = EarlierAttempts(scheduling.partitions)
    for partition, alternates in zip(scheduling.partitions.served, scheduling.alternates, strict=True):
        endpoints[claims.topic(partition.name)] = [
            ClaimsEndpoint(
                partition.store,
                alternates,
                ttl_ms,
                lambda: milliseconds(conf.store.audit_grace),
                on_unverified=on_unverified,
                stamps=stamps,
                earlier_attempts=earlier_attempts,
            )
        ]
    return [
        bus.get_server(transport, messaging.Target(topic=topic, server=worker), topic_endpoints, serializer)
        for topic, topic_endpoints in endpoints.items()
    ]


def _scheduler_endpoints(conf: cfg.ConfigOpts, scheduling: SchedulingParts, worker: str) -> list[Any]:
    partitions, registry = scheduling.partitions, namespaces.load(conf)
    return [
        SelectionEndpoint(
            scheduling.intake,
            scheduling.dry_run,
            scheduling.groups,
            max_instances=conf.rpc.max_instances,
            max_requests=conf.solver.max_batch,
        ),
        HostStateEndpoint(
            partitions,
            HostStates(partitions, registry),
            AggregateWriter(partitions, registry.find("aggregate")),
            lambda: reads.required_keys(scheduling.current.policy.reads),
            StampSigner(conf.scheduler.stamp_key),
        ),
        ServerGroupEndpoint(scheduling.groups),
        NovaAuditEndpoint(partitions.own.store, milliseconds(conf.nova.build_timeout)),
        DecisionsEndpoint(
            partitions, lambda kind: extensions.list_entries(scheduling.current.policy.driver, kind), worker
        ),
    ]
