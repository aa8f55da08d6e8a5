# SPDX-License-Identifier: Apache-2.0
"""Liveness tasks of a worker, by [service_group]: none beyond the reaper, or polling of a service group."""

import os
from collections.abc import Sequence

from oslo_config import cfg

from rpcapi.background import Periodic
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator
from rpcapi.daemon.membership import Membership
from scheduler_svc.replication.servicegroup.watch import ServiceGroupWatcher
from scheduler_svc.store.protocols.host_state import LivenessStore
from scheduler_svc.store.records import Liveness


def get_liveness_source(conf: cfg.ConfigOpts) -> Liveness:
    """Return the source of a store's liveness information: 'beats' or 'group'."""
    return "beats" if CoordinationGroup.from_conf(conf, conf.rpc.partition) is None else "group"


class GroupLiveness:
    """Joins the service group, and polls the groups of the partitions that this worker serves.

    Does nothing without a configured group. ``polls`` is True for only one worker of a daemon.
    """

    def __init__(self, conf: cfg.ConfigOpts, stores: Sequence[LivenessStore], service: str, polls: bool) -> None:
        own_group = CoordinationGroup.from_conf(conf, conf.rpc.partition)
        self._membership = Membership(own_group, [service]) if own_group else None
        self._coordinators: list[Coordinator] = []
        self._periodics = [self._make_watcher(conf, store) for store in stores] if own_group and polls else []

    def start(self) -> None:
        """Start the membership and the polling."""
        for component in (self._membership, *self._periodics):
            if component is not None:
                component.start()

    def stop(self) -> None:
        """Leave the group and stop polling."""
        for component in (self._membership, *self._periodics):
            if component is not None:
                component.stop()

    def wait(self) -> None:
        """Wait until all threads have ended, then close the coordinators."""
        for component in (self._membership, *self._periodics):
            if component is not None:
                component.wait()
        for coordinator in self._coordinators:
            coordinator.close()

    def _make_watcher(self, conf: cfg.ConfigOpts, store: LivenessStore) -> Periodic:
        group = CoordinationGroup.from_conf(conf, store.partition)
        assert group is not None  # noqa: S101 - the configuration is the same for every partition
        coordinator = Coordinator(group, f"watch:{conf.scheduler.host}:{os.getpid()}")
        self._coordinators.append(coordinator)
        watch = ServiceGroupWatcher(store, coordinator, grace=group.grace, settling=group.timeout)
        return Periodic("Polling the service group", watch.poll, lambda: group.interval)
