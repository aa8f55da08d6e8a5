# SPDX-License-Identifier: Apache-2.0
"""The wire format of the embedded bus, and the small policies beside it."""

import itertools
import json
import time

import pytest

from rpcapi.drivers import errors, wire
from rpcapi.drivers.backoff import Backoff
from rpcapi.drivers.recent import Recent

REQUEST = wire.Request(ctxt={"request_id": "r"}, message={"method": "m", "args": {"a": "ü"}}, expires_at=1.0)


class Received:
    """What kombu hands over."""

    def __init__(self, body: object) -> None:
        self.body = body
        self.accept: object = None

    def decode(self) -> object:
        return self.body


@pytest.mark.parametrize("body", [REQUEST, wire.Reply("id", {"a": [1, None]}), wire.Reply("id", ending=False)])
def test_what_is_encoded_decodes_to_the_same(body: wire.Request | wire.Reply) -> None:
    assert wire.decode(Received(json.loads(wire.encode(body, 1024)))) == body


def test_the_limit_counts_bytes_and_not_characters() -> None:
    text = wire.encode(wire.Reply("id", "x" * 500), 10_000)
    assert wire.encode(wire.Reply("id", "x" * 500), len(text)) == text
    with pytest.raises(errors.MessageTooLarge, match=f"{len(text)} bytes"):
        wire.encode(wire.Reply("id", "x" * 500), len(text) - 1)


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
def test_what_is_not_ours_is_called_foreign(body: object) -> None:
    with pytest.raises(errors.MessageForeign):
        wire.decode(Received(body))


def test_a_request_expires_at_its_deadline() -> None:
    assert REQUEST.expired()
    assert not wire.Request({}, {}, expires_at=time.time() + 60).expired()


def test_pauses_double_up_to_the_longest() -> None:
    assert list(itertools.islice(Backoff(0.5, 3).pauses(), 5)) == [0.5, 1, 2, 3, 3]
    assert list(itertools.islice(Backoff(9, 3).pauses(), 2)) == [3, 3]


def test_a_key_is_first_once_until_it_is_forgotten() -> None:
    recent = Recent(most=2)
    assert [recent.first(key) for key in ("a", "a", "b", "c", "a")] == [True, False, True, True, True]
