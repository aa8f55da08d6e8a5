# SPDX-License-Identifier: Apache-2.0
"""The notification publishers of a worker, as configured in [host_state_notifications]."""

import uuid
from collections.abc import Callable, Sequence

from oslo_config import cfg

from scheduler_svc.notifications.outlet import NotificationSender
from scheduler_svc.notifications.publisher import NotificationPublisher
from scheduler_svc.notifications.turn import PublisherLease
from scheduler_svc.store.interface import Store


class NotificationPublishers:
    """One publisher for each partition, none if notifications are disabled. ``opener`` opens a store for each."""

    def __init__(
        self, conf: cfg.ConfigOpts, partitions: Sequence[str], opener: Callable[[cfg.ConfigOpts, str], Store]
    ) -> None:
        """Raise BadConfiguration for an unknown transport or driver."""
        group = conf.host_state_notifications
        self._senders: list[NotificationSender] = []
        self._stores: list[Store] = []
        self._publishers: list[NotificationPublisher] = []
        owner = f"{conf.scheduler.host}:{uuid.uuid4().hex}"
        name = f"gantt-scheduler.{conf.scheduler.host}"
        for partition in partitions if group.enabled else ():
            sender = NotificationSender(conf, group.transport_url, group.driver, group.topics, name)
            store = opener(conf, partition)
            self._senders.append(sender)
            self._stores.append(store)
            self._publishers.append(
                NotificationPublisher(store, PublisherLease(store, owner, group.lease), sender.send, group.kinds)
            )

    def start(self) -> None:
        """Start all publishers."""
        for publisher in self._publishers:
            publisher.start()

    def stop(self) -> None:
        """Stop all publishers."""
        for publisher in self._publishers:
            publisher.stop()

    def wait(self) -> None:
        """Wait until all publishers have ended, then close their transports and stores."""
        for publisher in self._publishers:
            publisher.wait()
        for sender in self._senders:
            sender.close()
        for store in self._stores:
            store.close()
