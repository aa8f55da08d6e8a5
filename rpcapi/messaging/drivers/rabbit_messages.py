# SPDX-License-Identifier: Apache-2.0
"""Receipt of arbitrary messages from RabbitMQ.

The dispatcher logs one line about an undecodable message, and answers if the reply fields are readable. Messages are
acknowledged before they are decoded, so that a message that kills the process is not redelivered.
"""

import logging
from typing import Any

from kombu.serialization import prepare_accept_content
from oslo_serialization import jsonutils

from rpcapi.messaging.drivers import dead_letters
from rpcapi.messaging.drivers.errors import MessageTooLarge
from rpcapi.messaging.private import deserialize_msg
from rpcapi.messaging.private_rabbit import Consumer, RabbitMessage

LOG = logging.getLogger(__name__)

ACCEPT = prepare_accept_content(["json"])
BODY_KEY = "oslo.message"
# Fields that the sender's driver appends to the arguments, in this order.
FIRST_ADDED_KEY = '"_msg_id"'
REPLY_KEYS = ("_msg_id", "_reply_q", "_unique_id")
MAX_REASON = 200  # characters


class PeerMessage(RabbitMessage):
    """Received message; the arguments of an undecodable one are a string with the reason."""

    def __init__(self, raw_message: Any) -> None:
        fields, self.fault = _decode(raw_message)
        dict.__init__(self, fields)
        self._raw_message = raw_message

    def acknowledge(self) -> None:
        """Do nothing: the consumer has acknowledged the message."""


class PeerConsumer(Consumer):
    callback: Any
    _max_bytes: int

    @classmethod
    def of(cls, stock: Consumer, max_length: int, max_bytes: int) -> "PeerConsumer":
        consumer = cls.__new__(cls)
        consumer.__dict__.update(stock.__dict__)
        consumer._max_bytes = max_bytes
        if not consumer.rabbit_stream_fanout:  # streams have their own limits
            consumer.queue_arguments["x-max-length"] = max_length
            if consumer.type != "fanout":
                consumer.queue_arguments["x-overflow"] = "reject-publish"
        return consumer

    def _callback(self, message: Any) -> None:
        if getattr(self.callback, "is_closing", False):
            return  # without acknowledgement, so that another server gets the message
        headers = message.properties.get("application_headers") or {}
        if self.rabbit_stream_fanout and (offset := headers.get("x-stream-offset")) is not None:
            self.next_stream_offset = offset + 1
        # No peer compresses messages, and kombu would decompress a small body into a huge one.
        headers.pop("compression", None)
        received = self.queue.channel.message_to_python(message)
        received.ack()
        size = len(_body_of(message))
        if size > self._max_bytes:
            self._drop(message, MessageTooLarge(size, self._max_bytes))
            return
        received.accept = ACCEPT
        peer_message = PeerMessage(received)
        if peer_message.fault is not None:
            self._keep(message, peer_message.fault)
        try:
            self.callback(peer_message)
        except Exception as error:  # even a bug must not stop the reader or cause a redelivery
            self._drop(message, error, is_kept=peer_message.fault is not None)

    def _drop(self, message: Any, error: Exception, *, is_kept: bool = False) -> None:
        LOG.warning("Dropped a message on queue %s: %s", self.queue_name, _reason(error))
        if not is_kept:
            self._keep(message, _reason(error))

    def _keep(self, message: Any, reason: str) -> None:
        outbox = getattr(getattr(self.callback, "driver", None), "dead_letter_outbox", None)
        if outbox is not None:
            dead_letters.COUNT.add_one()
            outbox.add(dead_letters.describe(self.queue_name, _body_of(message), reason))


def _body_of(message: Any) -> bytes:
    body = message.body
    return body if isinstance(body, bytes) else body.encode(errors="replace")


def _decode(raw_message: Any) -> tuple[dict[str, Any], str | None]:
    try:
        fields = deserialize_msg(raw_message.payload)
        if isinstance(fields, dict):
            return fields, None
        reason = f"a message of type {type(fields).__name__}"
    except Exception as error:  # kombu, oslo.messaging and json raise many types
        reason = f"a message that cannot be decoded: {_reason(error)}"
    return {**_reply_fields(raw_message), "method": "undecodable", "args": reason}, reason


def _reply_fields(raw_message: Any) -> dict[str, Any]:
    """Return the reply fields, which may be readable when the arguments before them are not."""
    try:
        text = raw_message.payload[BODY_KEY]
        fields = jsonutils.loads("{" + text[text.rindex(FIRST_ADDED_KEY) :])
        return {key: fields[key] for key in REPLY_KEYS}
    except Exception:  # without reply fields the caller gets no answer
        return {}


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_REASON]
