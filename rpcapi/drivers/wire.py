# SPDX-License-Identifier: Apache-2.0
"""What travels: requests and replies, as one JSON object each inside kombu's message."""

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.serialization import prepare_accept_content
from oslo_serialization import jsonutils

from rpcapi.drivers.errors import MessageForeign, MessageTooLarge

CONTENT_TYPE = "application/json"
ACCEPT = prepare_accept_content(["json"])
WIRE_VERSION = 1


def new_id() -> str:
    """An id that no other message has."""
    return uuid.uuid4().hex


@dataclass(frozen=True)
class Request:
    """One call or cast.

    `expires_at` is seconds since the epoch; `monitor` the seconds that the caller bears without a sign of
    life; `fanout` the key of the fan-out that it was sent through, if it was.
    """

    ctxt: dict[str, Any]
    message: dict[str, Any]
    expires_at: float
    reply_to: str | None = None
    monitor: float | None = None
    fanout: str | None = None
    id: str = field(default_factory=new_id)

    def expired(self) -> bool:
        """Whether its sender has stopped waiting, or would not want it to happen any more."""
        return time.time() >= self.expires_at


@dataclass(frozen=True)
class Reply:
    """An answer to the request of this id; one that is not the ending only says that the server is alive."""

    id: str
    result: Any = None
    failure: str | None = None
    ending: bool = True


# Received like an answer that nobody waits for: it only ends the receiver's current read.
WAKE = Reply(id="wake")


def encode(body: Request | Reply, most_bytes: int) -> str:
    """The JSON text of a message.

    :raises MessageTooLarge: when it is longer than `most_bytes`
    """
    # A shallow copy of the fields: asdict would walk and copy the whole payload.
    fields = {name: getattr(body, name) for name in body.__dataclass_fields__}
    text = jsonutils.dumps({"wire": WIRE_VERSION, "kind": type(body).__name__, **fields})
    # A character takes at most four bytes, so that most texts need not be encoded to be measured.
    if len(text) * 4 > most_bytes and (size := len(text.encode())) > most_bytes:
        raise MessageTooLarge(
            f"A message of {size} bytes is larger than the {most_bytes} that [gantt_bus] max_message_bytes "
            "allows. Send it in parts, or raise the limit on every process."
        )
    return text


def decode(message: Any) -> Request | Reply:
    """Read what kombu received.

    :raises MessageForeign: when it is not JSON, of another wire version, or lacks a field
    """
    message.accept = ACCEPT
    try:
        body = message.decode()
        kind = {"Request": Request, "Reply": Reply}[body.pop("kind")]
        version = body.pop("wire")
        if version == WIRE_VERSION:
            return kind(**body)
    except (ContentDisallowed, DecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise MessageForeign(f"A message on the bus is not gantt's and was dropped: {error!r}.") from error
    raise MessageForeign(f"A message has wire version {version}, this process knows {WIRE_VERSION}.")
