# SPDX-License-Identifier: Apache-2.0
"""The publishers of a worker, by [host_state_notifications]."""

import uuid
from collections.abc import Callable, Sequence

from oslo_config import cfg

from scheduler_svc.notifications.outlet import Outlet
from scheduler_svc.notifications.publisher import Publisher
from scheduler_svc.notifications.turn import Turn
from scheduler_svc.store.interface import Store


class Publishers:
    """One a partition; none where notifications are not enabled. ``opener`` gives each a store of its own."""

    def __init__(
        self, conf: cfg.ConfigOpts, partitions: Sequence[str], opener: Callable[[cfg.ConfigOpts, str], Store]
    ) -> None:
        """Raise BadConfiguration for a transport or a driver that there is not."""
        group = conf.host_state_notifications
        self._outlets: list[Outlet] = []
        self._stores: list[Store] = []
        self._publishers: list[Publisher] = []
        owner = f"{conf.scheduler.host}:{uuid.uuid4().hex}"
        name = f"gantt-scheduler.{conf.scheduler.host}"
        for partition in partitions if group.enabled else ():
            outlet = Outlet(conf, group.transport_url, group.driver, group.topics, name)
            store = opener(conf, partition)
            self._outlets.append(outlet)
            self._stores.append(store)
            self._publishers.append(Publisher(store, Turn(store, owner, group.lease), outlet.send, group.kinds))

    def start(self) -> None:
        """Begin."""
        for each in self._publishers:
            each.start()

    def stop(self) -> None:
        """Publish no more."""
        for each in self._publishers:
            each.stop()

    def wait(self) -> None:
        """Return when all have ended and what they used is closed."""
        for each in self._publishers:
            each.wait()
        for outlet in self._outlets:
            outlet.close()
        for store in self._stores:
            store.close()
