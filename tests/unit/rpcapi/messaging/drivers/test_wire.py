# SPDX-License-Identifier: Apache-2.0
"""The wire format of the embedded bus, its backoff, and its recent ids."""

import json
import time

import pytest

from rpcapi.messaging.drivers import errors, wire

REQUEST = wire.WireRequest(ctxt={"request_id": "r"}, message={"method": "m", "args": {"a": "ü"}}, expires_at=1.0)


class ReceivedMessage:
    """A double of a message received by kombu."""

    def __init__(self, body: object) -> None:
        self.body = body
        self.accept: object = None

    def decode(self) -> object:
        return self.body


@pytest.mark.parametrize("body", [REQUEST, wire.WireReply("id", {"a": [1, None]}), wire.WireReply("id", ending=False)])
def test_encoded_message_decodes_to_the_same(body: wire.WireRequest | wire.WireReply) -> None:
    assert wire.decode(ReceivedMessage(json.loads(wire.encode(body, 1024)))) == body


def test_size_limit_counts_bytes_not_characters() -> None:
    text = wire.encode(wire.WireReply("id", "x" * 500), 10_000)
    assert wire.encode(wire.WireReply("id", "x" * 500), len(text)) == text
    with pytest.raises(errors.MessageTooLarge, match=f"{len(text)} bytes"):
        wire.encode(wire.WireReply("id", "x" * 500), len(text) - 1)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"kind": "Request", "wire": wire.WIRE_VERSION},
        {"kind": "Reply", "wire": wire.WIRE_VERSION, "id": "i", "colour": "red"},
        {"kind": "Reply", "wire": wire.WIRE_VERSION + 1, "id": "i"},
        {"kind": "Rumour", "wire": wire.WIRE_VERSION},
    ],
)
def test_message_of_unknown_format_is_rejected(body: object) -> None:
    with pytest.raises(errors.MessageForeign):
        wire.decode(ReceivedMessage(body))


def test_request_expires_at_its_deadline() -> None:
    assert REQUEST.expired()
    assert not wire.WireRequest({}, {}, expires_at=time.time() + 60).expired()
