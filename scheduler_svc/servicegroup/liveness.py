# SPDX-License-Identifier: Apache-2.0
"""What a worker does about who lives, by [service_group]: nothing more than its reaper does, or look at a group."""

import os
from collections.abc import Sequence

from oslo_config import cfg

from rpcapi.daemon.coordination import Coordinator, Group
from rpcapi.daemon.membership import Membership
from scheduler_svc.periodic import Periodic
from scheduler_svc.servicegroup.watch import Watch
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Liveness


def told_by(conf: cfg.ConfigOpts) -> Liveness:
    """Return who tells a store which services live."""
    return "beats" if Group.from_conf(conf, conf.rpc.partition) is None else "group"


class GroupLiveness:
    """This worker's place in the service group, and its looks at the groups of the partitions that it decides over.

    Without a group it does nothing. One worker of a daemon is enough to look: ``looks``.
    """

    def __init__(self, conf: cfg.ConfigOpts, stores: Sequence[Store], service: str, looks: bool) -> None:
        own = Group.from_conf(conf, conf.rpc.partition)
        self._membership = Membership(own, [service]) if own else None
        self._coordinators: list[Coordinator] = []
        self._periodics = [self._watching(conf, store) for store in stores] if own and looks else []

    def start(self) -> None:
        """Begin."""
        for each in (self._membership, *self._periodics):
            if each is not None:
                each.start()

    def stop(self) -> None:
        """Leave, and look no more."""
        for each in (self._membership, *self._periodics):
            if each is not None:
                each.stop()

    def wait(self) -> None:
        """Return when that is done."""
        for each in (self._membership, *self._periodics):
            if each is not None:
                each.wait()
        for coordinator in self._coordinators:
            coordinator.close()

    def _watching(self, conf: cfg.ConfigOpts, store: Store) -> Periodic:
        group = Group.from_conf(conf, store.partition)
        assert group is not None  # noqa: S101 - the configuration is the same for every partition
        coordinator = Coordinator(group, f"watch:{conf.scheduler.host}:{os.getpid()}")
        self._coordinators.append(coordinator)
        watch = Watch(store, coordinator, grace=group.grace, settling=group.timeout)
        return Periodic("Looking at the service group", watch.look, lambda: group.interval)
