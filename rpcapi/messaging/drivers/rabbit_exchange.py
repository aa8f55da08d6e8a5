# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ exchanges created by the deployment, since permission to declare one includes its deletion."""

import logging
from typing import Any

import amqp
from kombu.entity import Exchange

from rpcapi.access.rabbit_users import DEPLOYED_EXCHANGES

LOG = logging.getLogger(__name__)


class DeployedExchange(Exchange):
    """Exchange that is declared only if the deployment did not create it."""

    @classmethod
    def of(cls, stock: Exchange) -> "DeployedExchange":
        if stock.name in DEPLOYED_EXCHANGES:
            return cls(name=stock.name, type=stock.type, durable=True, auto_delete=False)
        return cls(name=stock.name, type=stock.type, durable=stock.durable, auto_delete=stock.auto_delete)

    def declare(self, nowait: bool = False, passive: bool | None = None, channel: Any = None) -> Any:
        channel = channel or self.channel
        if channel.connection is None:  # closed after an error; a retry opens a new channel
            raise amqp.RecoverableConnectionError("the channel is closed")
        check = channel.connection.channel()  # a separate channel, because a failed check closes it
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
