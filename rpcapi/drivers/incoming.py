# SPDX-License-Identifier: Apache-2.0
"""A received request, as an RPC server sees it."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_messaging import exceptions
from oslo_messaging._drivers import base, common

from rpcapi.drivers import wire
from rpcapi.drivers.errors import BusError, MessageTooLarge
from rpcapi.drivers.outbox import Outbox

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Delivery:
    """A request, and the tag by which to acknowledge it; a fanned-out one has none, it was gone once read."""

    request: wire.Request
    tag: str | None = None


@dataclass(frozen=True)
class ReplyLimits:
    """Seconds that a reply is kept for its reader, and that sending it is tried."""

    ttl: int
    send_timeout: float


class BusIncoming(base.RpcIncomingMessage):
    """A request that oslo.messaging's server acknowledges, runs and answers, in a thread of its executor."""

    def __init__(
        self, delivery: Delivery, outbox: Outbox, limits: ReplyLimits, begin: Callable[[Delivery], None]
    ) -> None:
        request = delivery.request
        super().__init__(request.ctxt, request.message, request.id)
        self.client_timeout = request.monitor
        self._delivery = delivery
        self._outbox = outbox
        self._limits = limits
        self._begin = begin

    def acknowledge(self) -> None:
        """Take the message for good, just before it runs. oslo.messaging skips it when this raises.

        :raises MessageExpired, ClaimedElsewhere, oslo_messaging.MessagingException: it must not run here
        """
        self._begin(self._delivery)

    def requeue(self) -> None:
        """Let another server take the message; one that was acknowledged or fanned out stays here."""
        if self._delivery.tag is not None:
            try:
                self._outbox.requeue(self._delivery.tag)
            except Exception:  # the interface forbids raising; the visibility timeout requeues it anyway
                LOG.exception("Could not put message %s back", self.msg_id)

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Answer the caller; a reply that cannot be sent becomes a failure that can."""
        reply_to = self._delivery.request.reply_to
        if reply_to is None:
            return
        text = common.serialize_remote_exception(failure) if failure else None
        try:
            self._send(reply_to, wire.Reply(self.msg_id, reply, text))
        except (MessageTooLarge, TypeError, ValueError) as error:
            LOG.error("The answer to %s cannot be sent: %s", self.msg_id, error)
            self._send(reply_to, wire.Reply(self.msg_id, failure=common.serialize_remote_exception(sys.exc_info())))

    def heartbeat(self) -> None:
        """Tell a caller that its long call is still running.

        :raises oslo_messaging.MessageDeliveryFailure: when the bus is away; the caller hears nothing then
        """
        reply_to = self._delivery.request.reply_to
        if reply_to is not None:
            alive = wire.Reply(self.msg_id, ending=False)
            self._outbox.send(
                reply_to, alive, self._limits.ttl, time.monotonic() + (self.client_timeout or 0), direct=True
            )

    def _send(self, reply_to: str, reply: wire.Reply) -> None:
        try:
            deadline = time.monotonic() + self._limits.send_timeout
            self._outbox.send(reply_to, reply, self._limits.ttl, deadline, direct=True)
        except MessageTooLarge:
            raise
        except (BusError, exceptions.MessageDeliveryFailure) as error:
            LOG.error("The answer to %s is lost, its caller will time out: %s", self.msg_id, error)
