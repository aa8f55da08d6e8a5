# SPDX-License-Identifier: Apache-2.0
"""Pool of RabbitMQ connections for sending."""

import threading
from typing import Any

import oslo_messaging

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.private_rabbit import ConnectionPool


class BoundedPool(ConnectionPool):
    def __init__(self, max_size: int, *args: Any) -> None:
        super().__init__(*args)
        self._slots = threading.BoundedSemaphore(max_size)

    @classmethod
    def with_sizes_of(cls, stock: ConnectionPool, connection_cls: type[Any]) -> "BoundedPool":
        sizes = stock._max_size, stock._min_size, stock._item_ttl
        return cls(stock._max_size, stock.conf, *sizes, stock.url, connection_cls)

    def get(self, retry: int | None = None) -> Any:
        """Take a connection; raises MessageDeliveryFailure at the thread's deadline."""
        if not self._slots.acquire(timeout=deadline.remaining_seconds()):
            raise oslo_messaging.MessageDeliveryFailure(
                "No connection to RabbitMQ became free in time: RabbitMQ is slow or unreachable, or "
                "[oslo_messaging_rabbit] rpc_conn_pool_size is too low."
            )
        try:
            return super().get(retry)
        except BaseException:
            self._slots.release()
            raise

    def put(self, item: Any) -> None:
        super().put(item)
        self._slots.release()
