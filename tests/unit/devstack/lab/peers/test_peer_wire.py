# SPDX-License-Identifier: Apache-2.0
"""The peer's end of the line, run as it is run there: with nothing but the standard library."""

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


def test_calls_are_timed_one_by_one_and_what_is_printed_is_no_answer(peer):
    taken = peer.ask("noisy", first=0, count=4)
    assert len(taken) == 4
    assert all(seconds >= 0 for seconds in taken)


def test_what_a_peer_raises_is_told_and_it_goes_on(peer):
    with pytest.raises(PeerFailed, match="LookupError: it is not there"):
        peer.ask("broken")
    with pytest.raises(PeerFailed, match="KeyError"):
        peer.ask("unheard-of")
    assert peer.ask("noisy", first=0, count=1)
