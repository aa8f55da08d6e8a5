# SPDX-License-Identifier: Apache-2.0
"""Wire format of the embedded bus: one JSON object per request or reply."""

import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from oslo_serialization import jsonutils

from rpcapi.messaging.drivers.errors import MessageForeign

WIRE_VERSION = 2

MAX_ID = 64  # characters of a message id
MAX_TIME = 10**15  # seconds; huge integers would overflow a float
MAX_KEY = 400  # characters of a Redis key
_RANDOM = re.compile("[0-9a-f]{32}")


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True)
class WireRequest:
    """One call or cast, which expires at a Unix time in seconds.

    ``reply_to`` is the random part of the caller's process name; after ``monitor`` seconds without a heartbeat the
    caller gives up. ``fanout`` is the key of a fan-out's members.
    """

    ctxt: dict[str, Any]
    message: dict[str, Any]
    expires_at: float
    reply_to: str | None = None
    monitor: float | None = None
    fanout: str | None = None
    id: str = field(default_factory=new_id)

    def expired(self) -> bool:
        return time.time() >= self.expires_at


@dataclass(frozen=True)
class WireReply:
    """Reply to request ``id``; a heartbeat if not ``ending``."""

    id: str
    result: Any = None
    failure: str | None = None
    ending: bool = True


WAKE = WireReply(id="wake")  # interrupts the receiver's read; no caller has this id


def encode(body: WireRequest | WireReply) -> str:
    # asdict would copy the payload deeply.
    fields = {name: getattr(body, name) for name in body.__dataclass_fields__}
    text: str = jsonutils.dumps({"wire": WIRE_VERSION, "kind": type(body).__name__.removeprefix("Wire"), **fields})
    return text


def decode(text: bytes) -> WireRequest | WireReply:
    """Decode a message; undecodable arguments become a string, which the dispatcher rejects. Raises MessageForeign."""
    try:
        fields = jsonutils.loads(text)
    except (ValueError, RecursionError) as error:
        return _without_arguments(text, error)
    return _body(fields)


def _body(fields: Any) -> WireRequest | WireReply:
    kinds: dict[str, type[WireRequest | WireReply]] = {"Request": WireRequest, "Reply": WireReply}
    try:
        kind = kinds[fields.pop("kind")]
        version = fields.pop("wire")
        if version != WIRE_VERSION:
            raise MessageForeign(f"it has wire version {version!r:.40}, this process supports {WIRE_VERSION}")
        body = kind(**fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise _foreign(error) from error
    if not _is_valid_request(body) if isinstance(body, WireRequest) else not _is_valid_reply(body):
        raise MessageForeign(f"a field of the {kind.__name__} has a wrong type or value")
    return body


def _without_arguments(text: bytes, cause: Exception) -> WireRequest | WireReply:
    try:
        fields = jsonutils.loads(b"{" + text[text.rindex(b'"expires_at"') :])
        reason = f"JSON that cannot be decoded: {type(cause).__name__}"
        return _body({"kind": "Request", "wire": WIRE_VERSION, "ctxt": {}, "message": reason, **fields})
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _foreign(cause) from cause


def _foreign(error: Exception) -> MessageForeign:
    return MessageForeign(f"it is not in gantt's format: {str(error) or type(error).__name__}")


def _is_valid_request(request: WireRequest) -> bool:
    expires_at, reply_to, fanout = request.expires_at, request.reply_to, request.fanout
    return (
        _is_text(request.id, MAX_ID)
        and isinstance(expires_at, int | float)
        and abs(expires_at) < MAX_TIME
        and (reply_to is None or (isinstance(reply_to, str) and _RANDOM.fullmatch(reply_to) is not None))
        and (fanout is None or _is_text(fanout, MAX_KEY))
    )


def _is_valid_reply(reply: WireReply) -> bool:
    return _is_text(reply.id, MAX_ID) and isinstance(reply.failure, str | None) and isinstance(reply.ending, bool)


def _is_text(value: Any, length: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= length and value.isprintable()
