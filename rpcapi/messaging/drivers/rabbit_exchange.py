# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ exchanges owned by the deployment: permission to declare one includes permission to delete it."""

import logging
from typing import Any

import amqp
from kombu.entity import Exchange

from rpcapi.access.rabbit_users import DEPLOYED_EXCHANGES

LOG = logging.getLogger(__name__)


class DeployedExchange(Exchange):
    """Exchange created by the deployment; declared only if it is missing."""

    @classmethod
    def of(cls, stock: Exchange) -> "DeployedExchange":
        """Return an unbound exchange as in the deployment's definitions; exchanges outside them are unchanged."""
        if stock.name in DEPLOYED_EXCHANGES:
            return cls(name=stock.name, type=stock.type, durable=True, auto_delete=False)
        return cls(name=stock.name, type=stock.type, durable=stock.durable, auto_delete=stock.auto_delete)

    def declare(self, nowait: bool = False, passive: bool | None = None, channel: Any = None) -> Any:
        channel = channel or self.channel
        if channel.connection is None:  # the broker closed the channel after an error; a retry opens a new channel
            raise amqp.RecoverableConnectionError("the channel is closed")
        # A failed check closes its channel, so it gets its own.
        check = channel.connection.channel()
        try:
            super().declare(passive=True, channel=check)  # type: ignore[no-untyped-call]
        except amqp.NotFound:
            LOG.warning(
                "Exchange %s is missing: import the broker's definitions. Creating it, if this user may.", self.name
            )
            return super().declare(  # type: ignore[no-untyped-call]
                nowait=nowait, passive=passive, channel=channel
            )
        check.close()
        return None
