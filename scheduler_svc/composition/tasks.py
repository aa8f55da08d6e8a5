# SPDX-License-Identifier: Apache-2.0
"""Background tasks of a scheduler worker. Worker 0 also runs the tasks that a daemon needs only once."""

import os
import uuid
from collections.abc import Callable, Sequence
from functools import partial

from oslo_config import cfg

from rpcapi.background import BackgroundLoop, Periodic
from rpcapi.clients.served_versions import served_versions
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator, Membership
from scheduler_svc.composition.scheduling import SchedulingParts, milliseconds
from scheduler_svc.composition.stores import liveness_source
from scheduler_svc.conf import weighers
from scheduler_svc.host_state import measurement
from scheduler_svc.host_state.aggregate_warnings import AggregateMetadataChecker
from scheduler_svc.host_state.service_versions import report_service, wall_clock_ms
from scheduler_svc.notifications import changes
from scheduler_svc.notifications.publisher import NotificationPublisher
from scheduler_svc.notifications.sender import NotificationSender
from scheduler_svc.nova.state_age import NovaStateAge
from scheduler_svc.replication import reaper
from scheduler_svc.replication.bus_suspicion import BusSuspicion
from scheduler_svc.replication.partitions import OpenPartitions, StoreOpener
from scheduler_svc.replication.service_group import ServiceGroupWatcher
from scheduler_svc.replication.size_measurement import SizeMeasurement
from scheduler_svc.scheduling.server_groups import ServerGroups
from scheduler_svc.store.interface import Store
from scheduler_svc.store.lease import DocumentLease
from scheduler_svc.store.reports import service_name

BINARY = "gantt-scheduler"
GROUP_CLEANUP_S = 3600.0


def build(
    conf: cfg.ConfigOpts, opener: StoreOpener, worker_index: int, scheduling: SchedulingParts
) -> list[BackgroundLoop]:
    """Return the worker's tasks, not started. Raises BadConfiguration."""
    partitions = scheduling.partitions
    served = [partition.store for partition in partitions.served]
    is_first = worker_index == 0
    tasks: list[BackgroundLoop] = [
        *(
            _reaping(conf, partition.store, partition.replica.reports_silent_s, follows_load=is_first)
            for partition in partitions.served
        ),
        *(_measuring(conf, partition.store) for partition in partitions),
        _heartbeat(conf, partitions.own.store),
        _host_measurement(conf, partitions, all_hosts=is_first),
    ]
    if is_first:
        tasks += [_aggregate_check(conf, partitions), _group_cleanup(scheduling.groups)]
        if scheduling.nova_state is not None:
            tasks.append(_nova_state_measurement(conf, partitions, scheduling.nova_state))
    own_group = CoordinationGroup.from_conf(conf, conf.rpc.partition)
    if own_group is not None:
        tasks.extend(group_liveness(conf, own_group, served, polls=is_first))
    if is_first and conf.host_state_notifications.enabled:
        tasks.extend(notification_publishers(conf, [store.partition for store in served], opener))
    return tasks


def group_liveness(
    conf: cfg.ConfigOpts, own_group: CoordinationGroup, stores: Sequence[Store], *, polls: bool
) -> list[BackgroundLoop]:
    """Return this daemon's membership in ``own_group`` and, with ``polls``, a polling task for each store's group."""
    host = conf.scheduler.host
    polled = [(store, CoordinationGroup.from_conf(conf, store.partition)) for store in stores if polls]
    return [
        Membership(own_group, [service_name(host, BINARY)]),
        *(_polling(store, group, f"watch:{host}:{os.getpid()}") for store, group in polled if group is not None),
    ]


def _polling(store: Store, group: CoordinationGroup, member: str) -> Periodic:
    coordinator = Coordinator(group, member)
    watcher = ServiceGroupWatcher(store, coordinator, grace=group.grace, settling=group.timeout)
    return Periodic("Polling the service group", watcher.poll, lambda: group.interval, coordinator.close)


def notification_publishers(
    conf: cfg.ConfigOpts, partitions: Sequence[str], opener: StoreOpener
) -> list[NotificationPublisher]:
    """Return one publisher per partition. Raises BadConfiguration for an unknown transport or driver."""
    group, host = conf.host_state_notifications, conf.scheduler.host
    owner = f"{host}:{uuid.uuid4().hex}"
    return [
        NotificationPublisher(
            store,
            DocumentLease(store, changes.LEASE_KEY, owner, group.lease),
            NotificationSender(conf, group.transport_url, group.driver, group.topics, f"gantt-scheduler.{host}"),
            group.kinds,
        )
        for store in map(opener, partitions)
    ]


def _reaping(
    conf: cfg.ConfigOpts, store: Store, reports_silent_s: Callable[[], float], *, follows_load: bool
) -> Periodic:
    """Return the reaper task of a partition. With ``follows_load``, it repeats without delay while work remains."""

    def limits() -> reaper.ReapLimits:
        dead_after_ms = milliseconds(conf.store.service_down_time) if liveness_source(conf) == "beats" else None
        return reaper.ReapLimits(
            dead_after_ms, milliseconds(conf.store.tombstone_ttl), milliseconds(conf.store.collect_timeout)
        )

    def interval() -> float:
        # Each script advances partition time by at most max_clock_step, so an idle partition must run scripts too.
        longest = min(conf.store.reap_interval, conf.store.max_clock_step / 2)
        return cleanup.pause(longest) if follows_load else longest

    cleanup = reaper.Reaper(store, limits, BusSuspicion(store, reports_silent_s).spares_hosts)
    return Periodic(f"Reaping {store.partition}", cleanup.reap, interval)


def _measuring(conf: cfg.ConfigOpts, store: Store) -> Periodic:
    measurement = SizeMeasurement(store)
    return Periodic(
        f"Measuring {store.partition}", measurement.measure, lambda: measurement.pause(conf.store.reap_interval)
    )


def _heartbeat(conf: cfg.ConfigOpts, store: Store) -> Periodic:
    def report() -> None:
        name = report_service(store, conf.scheduler.host, BINARY, served_versions(BINARY))
        store.note_clock(name, wall_clock_ms())

    return Periodic("Reporting this service", report, lambda: conf.scheduler.report_interval)


def _aggregate_check(conf: cfg.ConfigOpts, partitions: OpenPartitions) -> Periodic:
    checker = AggregateMetadataChecker(lambda: partitions.own.replica.unchecked_table, weighers.AGGREGATE_OPTIONS)
    return Periodic("Reading aggregates", checker.check, lambda: conf.scheduler.report_interval)


def _group_cleanup(groups: ServerGroups) -> Periodic:
    return Periodic("Deleting unused server groups", groups.delete_unused, lambda: GROUP_CLEANUP_S)


def _host_measurement(conf: cfg.ConfigOpts, partitions: OpenPartitions, *, all_hosts: bool) -> Periodic:
    """Return the task that measures all hosts, or else only how long the stores have been silent."""
    measure = (
        measurement.HostMeasurement(partitions).measure
        if all_hosts
        else partial(measurement.measure_silence, partitions)
    )
    return Periodic("Measuring hosts", measure, lambda: conf.scheduler.report_interval)


def _nova_state_measurement(conf: cfg.ConfigOpts, partitions: OpenPartitions, nova_state: NovaStateAge) -> Periodic:
    def measure() -> None:
        now_ms = nova_state.now_ms()
        with partitions.own.replica.unchecked_table.reading() as view:
            nova_state.measure(view, now_ms)

    return Periodic("Measuring the age of Nova's state", measure, lambda: conf.nova.bridge_interval)
