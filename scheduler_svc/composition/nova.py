# SPDX-License-Identifier: Apache-2.0
"""Builder of the server on Nova's message bus, or of the shadow of nova-scheduler."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from rpcapi.background import BackgroundLoop, Periodic
from rpcapi.messaging import foreign_bus
from rpcapi.messaging.copies import CopyListener, CopySource
from scheduler_svc import metrics
from scheduler_svc.composition.scheduling import SchedulingParts
from scheduler_svc.conf import nova
from scheduler_svc.nova.bus.host_chooser import HostChooser, NovaOptions
from scheduler_svc.nova.bus.scheduler import TOPIC, BaseEndpoint, NovaSchedulerEndpoint
from scheduler_svc.nova.bus.serializer import NovaSerializer
from scheduler_svc.nova.bus.waking import BridgeWaker
from scheduler_svc.nova.shadow.allocated_hosts import AllocatedHosts
from scheduler_svc.nova.shadow.decisions import ShadowScheduler
from scheduler_svc.nova.shadow.endpoint import ShadowEndpoint
from scheduler_svc.nova.shadow.observer import NovaObserver
from scheduler_svc.nova.shadow.report import NovaShadowReport

LABEL = "[nova] transport_url"
OTHER_METHOD = "other"
OBSERVATION_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class NovaBus:
    """Server on Nova's bus, with its transport and background tasks; not started."""

    transport: RPCTransport
    server: Any
    tasks: Sequence[BackgroundLoop] = field(default_factory=tuple)


def build(conf: cfg.ConfigOpts, scheduling: SchedulingParts) -> NovaBus | None:
    """Build the server for Nova, or return None if it is not configured. Raises BadConfiguration."""
    if not conf.nova.enabled or not conf.nova.transport_url:
        return None
    conf.register_opts(foreign_bus.rabbit_options(), group=nova.RABBIT)
    rabbit = {option.dest: conf[nova.RABBIT][option.dest] for option in foreign_bus.rabbit_options()}
    transport = foreign_bus.get_transport(
        conf.nova.transport_url,
        conf.nova.exchange,
        threads=conf.executor_thread_pool_size,
        rabbit=rabbit,
        lock_path=conf.nova.lock_path,
        label=LABEL,
    )
    make = _make_shadow if scheduling.is_shadow else _make_server
    return make(conf, transport, scheduling)


def _make_server(conf: cfg.ConfigOpts, transport: RPCTransport, scheduling: SchedulingParts) -> NovaBus:
    own = scheduling.partitions.own
    chooser = HostChooser(
        scheduling.intake,
        scheduling.unclaimed,
        lambda: own.replica.table,
        partial(scheduling.groups.complete, creates=True, is_external=True),
        _options(conf),
    )
    waker = BridgeWaker(own.store)
    endpoints = [NovaSchedulerEndpoint(chooser, waker, max_instances=conf.rpc.max_instances), BaseEndpoint()]
    server = foreign_bus.get_server(
        transport,
        messaging.Target(exchange=conf.nova.exchange, topic=TOPIC, server=conf.scheduler.host),
        endpoints,
        NovaSerializer(),
        on_dropped=count_dropped,
    )
    return NovaBus(transport, server)


def count_dropped(method: str) -> None:
    """Count a dropped call. Unknown methods share a label, because senders on Nova's bus may name any method."""
    label = method if hasattr(NovaSchedulerEndpoint, method) else OTHER_METHOD
    metrics.DROPPED_CALLS.labels(method=label).inc()


def _make_shadow(conf: cfg.ConfigOpts, transport: RPCTransport, scheduling: SchedulingParts) -> NovaBus:
    own = scheduling.partitions.own
    scheduler = ShadowScheduler(
        scheduling.current, scheduling.partitions, scheduling.rewriter, scheduling.unclaimed, _options(conf)
    )
    report = NovaShadowReport(own.store)
    allocated = AllocatedHosts(own.store, lambda: own.replica.table)
    observer = NovaObserver(allocated, report, conf.nova.shadow_timeout)
    endpoint = ShadowEndpoint(scheduler, observer, report, max_instances=conf.rpc.max_instances)
    source = CopySource(conf.nova.exchange, TOPIC, f"gantt_shadow.{conf.rpc.partition}")
    listener = CopyListener(transport, source, endpoint.receive, label=LABEL)
    observation = Periodic(
        "Comparing decisions with Nova's", observer.compare_pending, lambda: OBSERVATION_SECONDS, observer.stop
    )
    return NovaBus(transport, listener, [observation, report])


def _options(conf: cfg.ConfigOpts) -> NovaOptions:
    return NovaOptions(
        conf.nova.max_attempts, conf.nova.default_availability_zone, not conf.nova.disable_fallback_pcpu_query
    )
