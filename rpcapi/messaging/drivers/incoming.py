# SPDX-License-Identifier: Apache-2.0
"""A received request in the form that oslo.messaging's RPC server expects."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_messaging import exceptions

from rpcapi.context import SENDER_KEY
from rpcapi.messaging.drivers import names, wire
from rpcapi.messaging.drivers.errors import BusError, MessageTooLarge
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.private import RpcIncomingMessage, serialize_remote_exception

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Delivery:
    """A request, the user who sent it, and its delivery tag for the acknowledgement.

    A fan-out request has no tag, as reading removes it.
    """

    request: wire.WireRequest
    sender: str
    tag: str | None = None


class BusIncoming(RpcIncomingMessage):
    """A request that oslo.messaging's server acknowledges, runs and replies to, in a thread of its executor."""

    def __init__(self, delivery: Delivery, outbox: Outbox, on_begin: Callable[[Delivery], None]) -> None:
        request = delivery.request
        # What the body says about its sender is not believed.
        ctxt = {**request.ctxt, SENDER_KEY: delivery.sender} if isinstance(request.ctxt, dict) else request.ctxt
        super().__init__(ctxt, request.message, request.id)
        self.client_timeout = request.monitor
        self._delivery = delivery
        self._outbox = outbox
        self._on_begin = on_begin

    def acknowledge(self) -> None:
        """Acknowledge the message just before it runs. oslo.messaging skips it when this raises.

        :raises MessageExpired, ClaimedElsewhere, oslo_messaging.MessagingException: the message must not run here
        """
        self._on_begin(self._delivery)

    def requeue(self) -> None:
        """Do nothing: only servers of notifications call it, which this bus does not carry."""

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Send the reply, or a failure if the reply is not serialisable.

        :raises MessageTooLarge: nothing was sent
        """
        reply_to = self._reply_inbox()
        if reply_to is None:
            return
        text = serialize_remote_exception(failure) if failure else None
        try:
            self._send(reply_to, wire.WireReply(self.msg_id, reply, text))
        except (TypeError, ValueError) as error:
            LOG.error("The reply to %s cannot be sent: %s", self.msg_id, error)
            self._send(reply_to, wire.WireReply(self.msg_id, failure=serialize_remote_exception(sys.exc_info())))

    def heartbeat(self) -> None:
        """Notify the caller that its long call is still running.

        :raises oslo_messaging.MessageDeliveryFailure: when the bus is unreachable; the caller gets no heartbeat then
        """
        reply_to = self._reply_inbox()
        if reply_to is not None:
            heartbeat_reply = wire.WireReply(self.msg_id, ending=False)
            self._outbox.send(reply_to, heartbeat_reply, time.monotonic() + (self.client_timeout or 0))

    def _reply_inbox(self) -> str | None:
        """Return the inbox for replies: one of the user who sent the request, whatever its body says."""
        reply_to = self._delivery.request.reply_to
        return reply_to and names.inbox(self._outbox.user, names.process(self._delivery.sender, reply_to))

    def _send(self, reply_to: str, reply: wire.WireReply) -> None:
        try:
            self._outbox.send(reply_to, reply, time.monotonic() + self._outbox.send_timeout)
        except MessageTooLarge:
            raise
        except (BusError, exceptions.MessageDeliveryFailure) as error:
            LOG.error("The reply to %s is lost, its caller will time out: %s", self.msg_id, error)
