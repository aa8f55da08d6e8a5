# SPDX-License-Identifier: Apache-2.0
"""The notification publishers of a worker."""

from collections.abc import Callable, Collection, Sequence

from scheduler_svc.notifications import lease as publisher_lease
from scheduler_svc.notifications.publisher import NotificationPublisher
from scheduler_svc.notifications.sender import NotificationSender
from scheduler_svc.store.interface import Store
from scheduler_svc.store.lease import DocumentLease


class NotificationPublishers:
    """One publisher for each of ``stores``, which are closed with it, as are the senders."""

    def __init__(
        self,
        stores: Sequence[Store],
        make_sender: Callable[[], NotificationSender],
        *,
        owner: str,
        lease: float,
        kinds: Collection[str],
    ) -> None:
        """``owner`` and ``lease`` (in seconds) are those of the publisher lease, ``kinds`` the published changes."""
        self._stores = stores
        self._senders = [make_sender() for _ in stores]
        self._publishers = [
            NotificationPublisher(store, DocumentLease(store, publisher_lease.PLACE, owner, lease), sender.send, kinds)
            for store, sender in zip(stores, self._senders, strict=True)
        ]

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
