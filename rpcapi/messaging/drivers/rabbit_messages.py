# SPDX-License-Identifier: Apache-2.0
"""Reading of messages from RabbitMQ's queues, whatever peers have sent.

The stock driver logs a traceback for a message that it cannot decode, and answers nothing. Here such a message reaches
the dispatcher, with the reason in place of its arguments: the dispatcher rejects it in one log line, and answers if the
fields that a reply needs can be read.

A message is acknowledged before it is decoded. The stock driver acknowledges RPC messages between decoding and running
them, so that the broker delivers a message again whose decoding ends the process, and ends the next process too.
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
# The fields that the sender's driver adds to a message, in this order, after the arguments.
FIRST_ADDED_KEY = '"_msg_id"'
REPLY_KEYS = ("_msg_id", "_reply_q", "_unique_id")
MAX_REASON = 200  # characters


class PeerMessage(RabbitMessage):
    """A received message; one that cannot be decoded has a text in place of its arguments."""

    def __init__(self, raw_message: Any) -> None:
        fields, self.fault = _decode(raw_message)
        dict.__init__(self, fields)
        self._raw_message = raw_message

    def acknowledge(self) -> None:
        """Do nothing: the consumer has acknowledged the message."""


class PeerConsumer(Consumer):
    """Consumer that acknowledges a message, then hands it over, or logs one line if it cannot."""

    callback: Any
    _max_bytes: int

    @classmethod
    def of(cls, stock: Consumer, max_length: int, max_bytes: int) -> "PeerConsumer":
        """Return a consumer like ``stock``, which is not declared yet.

        The queue holds ``max_length`` messages. A message of more than ``max_bytes`` is not decoded.
        """
        consumer = cls.__new__(cls)
        consumer.__dict__.update(stock.__dict__)
        consumer._max_bytes = max_bytes
        if not consumer.rabbit_stream_fanout:  # streams have own bounds
            consumer.queue_arguments["x-max-length"] = max_length
            if consumer.type != "fanout":
                consumer.queue_arguments["x-overflow"] = "reject-publish"
        return consumer

    def _callback(self, message: Any) -> None:
        if getattr(self.callback, "is_closing", False):
            return  # without an acknowledgement, so that the broker gives the message to another server
        headers = message.properties.get("application_headers") or {}
        if self.rabbit_stream_fanout and (offset := headers.get("x-stream-offset")) is not None:
            self.next_stream_offset = offset + 1
        # No peer compresses. A small compressed body may be a huge one, which kombu would decompress at once.
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
        except Exception as error:  # a bug, too, must not stop the reader or deliver the message again
            self._drop(message, error, is_kept=peer_message.fault is not None)

    def _drop(self, message: Any, error: Exception, *, is_kept: bool = False) -> None:
        LOG.warning("Dropped a message on queue %s: %s", self.queue_name, _reason(error))
        if not is_kept:
            self._keep(message, _reason(error))

    def _keep(self, message: Any, reason: str) -> None:
        """Keep a message to a server, which cannot be processed, as a dead letter."""
        outbox = getattr(getattr(self.callback, "driver", None), "dead_letter_outbox", None)
        if outbox is not None:
            dead_letters.COUNT.add_one()
            outbox.add(dead_letters.describe(self.queue_name, _body_of(message), reason))


def _body_of(message: Any) -> bytes:
    """Return the body of a received message, which the AMQP library may have decoded to text."""
    body = message.body
    return body if isinstance(body, bytes) else body.encode(errors="replace")


def _decode(raw_message: Any) -> tuple[dict[str, Any], str | None]:
    """Return the fields of a message, and None or the reason why they could not be decoded."""
    try:
        fields = deserialize_msg(raw_message.payload)
        if isinstance(fields, dict):
            return fields, None
        reason = f"a message of type {type(fields).__name__}"
    except Exception as error:  # kombu, oslo.messaging and json raise many kinds
        reason = f"a message that cannot be decoded: {_reason(error)}"
    return {**_reply_fields(raw_message), "method": "undecodable", "args": reason}, reason


def _reply_fields(raw_message: Any) -> dict[str, Any]:
    """Return what can be read of the fields for the reply: they are after the arguments, which may be nested deeply."""
    try:
        text = raw_message.payload[BODY_KEY]
        fields = jsonutils.loads("{" + text[text.rindex(FIRST_ADDED_KEY) :])
        return {key: fields[key] for key in REPLY_KEYS}
    except Exception:  # as in _decode; nothing is answered then
        return {}


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_REASON]
