# SPDX-License-Identifier: Apache-2.0
"""The peer's side of the protocol, run with the standard library only."""

import sys

import pytest

from devstack.lab.peers import side
from devstack.lab.peers.side import INSIDE, PeerFailed

PEER = """
import sys
sys.path.insert(0, {inside!r})
from peer_wire import serve, timed
def noisy(first, count):
    print("a library says something", flush=True)
    return timed(lambda number: None, first, count)
def broken():
    raise LookupError("it is not there")
serve({{"noisy": noisy, "broken": broken}})
"""


@pytest.fixture
def peer(tmp_path):
    script = tmp_path / "peer.py"
    script.write_text(PEER.format(inside=str(INSIDE)))
    with side.running([sys.executable, "-s", str(script)]) as running:
        yield running


def test_calls_are_timed_individually_and_printed_output_is_no_answer(peer):
    durations = peer.ask("noisy", first=0, count=4)
    assert len(durations) == 4
    assert all(seconds >= 0 for seconds in durations)


def test_peer_error_is_returned_and_the_peer_continues(peer):
    with pytest.raises(PeerFailed, match="LookupError: it is not there"):
        peer.ask("broken")
    with pytest.raises(PeerFailed, match="KeyError"):
        peer.ask("unheard-of")
    assert peer.ask("noisy", first=0, count=1)
