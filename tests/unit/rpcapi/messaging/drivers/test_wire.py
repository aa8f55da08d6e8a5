# SPDX-License-Identifier: Apache-2.0
"""The wire format of the embedded bus, its backoff, and its recent ids."""

import json
import time

import pytest

from rpcapi.messaging.drivers import errors, wire

REQUEST = wire.WireRequest(ctxt={"request_id": "r"}, message={"method": "m", "args": {"a": "ü"}}, expires_at=1.0)


@pytest.mark.parametrize("body", [REQUEST, wire.WireReply("id", {"a": [1, None]}), wire.WireReply("id", ending=False)])
def test_encoded_message_decodes_to_the_same(body: wire.WireRequest | wire.WireReply) -> None:
    assert wire.decode(wire.encode(body).encode()) == body


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
        {"kind": ["Request"], "wire": wire.WIRE_VERSION},
        {"kind": "Reply", "wire": wire.WIRE_VERSION, "id": None},
        {"kind": "Reply", "wire": wire.WIRE_VERSION, "id": "i", "failure": {}},
        {"kind": "Reply", "wire": wire.WIRE_VERSION, "id": "i", "ending": None},
        *(
            {"kind": "Request", "wire": wire.WIRE_VERSION, "ctxt": {}, "message": {}, "expires_at": 1.0, **values}
            for values in (
                {"expires_at": None},
                {"expires_at": "1"},
                {"expires_at": 10**400},
                {"expires_at": float("nan")},
                {"id": {}},
                {"id": "x" * 65},
                {"id": "a\nb"},
                {"reply_to": 7},
                {"reply_to": "gantt_bus:received"},
                {"reply_to": "operator:" + "0" * 32},
                {"fanout": []},
            )
        ),
    ],
)
def test_message_of_unknown_format_is_rejected(body: object) -> None:
    with pytest.raises(errors.MessageForeign):
        wire.decode(json.dumps(body).encode())


def test_request_expires_at_its_deadline() -> None:
    assert REQUEST.expired()
    assert not wire.WireRequest({}, {}, expires_at=time.time() + 60).expired()


@pytest.mark.parametrize("value", ["[" * 100_000 + "]" * 100_000, "9" * 5000])
def test_request_whose_arguments_cannot_be_decoded_keeps_what_its_answer_needs(value: str) -> None:
    request = wire.WireRequest({}, {"args": "VALUE"}, 1.0, reply_to="0f" * 16)
    answerable = wire.decode(wire.encode(request).replace('"VALUE"', value).encode())
    assert isinstance(answerable, wire.WireRequest)
    assert (answerable.id, answerable.reply_to, answerable.expires_at) == (request.id, request.reply_to, 1.0)
    assert isinstance(answerable.message, str)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '"expires_at"', '[[[ "expires_at": 1'])
def test_text_that_is_no_json_is_rejected(text: str) -> None:
    with pytest.raises(errors.MessageForeign):
        wire.decode(text.encode())
