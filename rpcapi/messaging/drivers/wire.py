# SPDX-License-Identifier: Apache-2.0
"""Wire format of the embedded bus: requests and replies, one JSON object each, inside kombu's message."""

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.serialization import prepare_accept_content
from oslo_serialization import jsonutils

from rpcapi.messaging.drivers.errors import MessageForeign, MessageTooLarge

CONTENT_TYPE = "application/json"
ACCEPT = prepare_accept_content(["json"])
WIRE_VERSION = 1


def new_id() -> str:
    """Return a new unique message id."""
    return uuid.uuid4().hex


@dataclass(frozen=True)
class WireRequest:
    """One call or cast.

    `expires_at` is in seconds since the epoch; `monitor` is the seconds that the caller waits without a
    heartbeat; `fanout` is the key of the fan-out, if the request was sent through one.
    """

    ctxt: dict[str, Any]
    message: dict[str, Any]
    expires_at: float
    reply_to: str | None = None
    monitor: float | None = None
    fanout: str | None = None
    id: str = field(default_factory=new_id)

    def expired(self) -> bool:
        """Return whether the deadline has passed, so that the request must not run any more."""
        return time.time() >= self.expires_at


@dataclass(frozen=True)
class WireReply:
    """A reply to the request of this id; one with `ending` false is only a heartbeat of the server."""

    id: str
    result: Any = None
    failure: str | None = None
    ending: bool = True


# A reply without a waiting caller: it only ends the receiver's current read.
WAKE = WireReply(id="wake")


def encode(body: WireRequest | WireReply, max_bytes: int) -> str:
    """Return the JSON text of a message.

    :raises MessageTooLarge: when it is longer than `max_bytes`
    """
    # A shallow copy of the fields: asdict would copy the whole payload. The wire's "kind" has no prefix.
    fields = {name: getattr(body, name) for name in body.__dataclass_fields__}
    text = jsonutils.dumps({"wire": WIRE_VERSION, "kind": type(body).__name__.removeprefix("Wire"), **fields})
    # A character takes at most four bytes, so most texts need not be encoded to check their size.
    if len(text) * 4 > max_bytes and (size := len(text.encode())) > max_bytes:
        raise MessageTooLarge(
            f"A message of {size} bytes is larger than the {max_bytes} that [gantt_bus] max_message_bytes "
            "allows. Send it in parts, or raise the limit on every process."
        )
    return text


def decode(message: Any) -> WireRequest | WireReply:
    """Decode a message that kombu received.

    :raises MessageForeign: when it is not JSON, of another wire version, or lacks a field
    """
    message.accept = ACCEPT
    try:
        body = message.decode()
        kinds: dict[str, type[WireRequest | WireReply]] = {"Request": WireRequest, "Reply": WireReply}
        kind = kinds[body.pop("kind")]
        version = body.pop("wire")
        if version == WIRE_VERSION:
            return kind(**body)
    except (ContentDisallowed, DecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise MessageForeign(f"A message on the bus is not in gantt's format and was dropped: {error!r}.") from error
    raise MessageForeign(f"A message has wire version {version}, this process supports {WIRE_VERSION}.")
