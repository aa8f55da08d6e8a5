# SPDX-License-Identifier: Apache-2.0
"""Liveness by a service group: a worker joins its own group, and may poll the groups of partitions."""

from collections.abc import Sequence

from rpcapi.background import Periodic
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator
from rpcapi.daemon.membership import Membership
from scheduler_svc.replication.servicegroup.watch import ServiceGroupWatcher
from scheduler_svc.store.protocols.host_state import LivenessStore


class GroupLiveness:
    """Joins ``own_group`` as ``service``, and polls the groups of ``polled`` into their stores as ``watcher``."""

    def __init__(
        self,
        own_group: CoordinationGroup,
        service: str,
        polled: Sequence[tuple[LivenessStore, CoordinationGroup]],
        watcher: str,
    ) -> None:
        self._coordinators = [Coordinator(group, watcher) for _store, group in polled]
        self._tasks: list[Membership | Periodic] = [Membership(own_group, [service])]
        for (store, group), coordinator in zip(polled, self._coordinators, strict=True):
            self._tasks.append(_make_watcher(store, group, coordinator))

    def start(self) -> None:
        """Start the membership and the polling."""
        for task in self._tasks:
            task.start()

    def stop(self) -> None:
        """Leave the group and stop polling."""
        for task in self._tasks:
            task.stop()

    def wait(self) -> None:
        """Wait until all threads have ended, then close the coordinators."""
        for task in self._tasks:
            task.wait()
        for coordinator in self._coordinators:
            coordinator.close()


def _make_watcher(store: LivenessStore, group: CoordinationGroup, coordinator: Coordinator) -> Periodic:
    watcher = ServiceGroupWatcher(store, coordinator, grace=group.grace, settling=group.timeout)
    return Periodic("Polling the service group", watcher.poll, lambda: group.interval)
