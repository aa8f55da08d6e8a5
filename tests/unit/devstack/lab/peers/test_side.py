# SPDX-License-Identifier: Apache-2.0
"""The line to a peer: what it answers, and each way in which it can fail to."""

import sys
from pathlib import Path

import pytest

from devstack.lab.peers import side
from devstack.lab.peers.side import PeerFailed
from devstack.servers.process import start_ticks

FAKE = Path(__file__).with_name("fake_peer.py")


def running(way):
    return side.running([sys.executable, str(FAKE), way])


def test_a_peer_is_asked_time_and_again():
    with running("well") as peer:
        assert peer.ask("decide", first=0, count=3) == [0.5, 0.5, 0.5]
        assert peer.ask("decide", first=3, count=1) == [0.5]


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("error", "decide: no decide today"),
        ("garbage", "no JSON"),
        ("other", "another form"),
        ("die", "it ended: it hurts"),
    ],
)
def test_what_a_peer_does_instead_of_answering_is_told(way, says):
    with running(way) as peer, pytest.raises(PeerFailed, match=says):
        peer.ask("decide")


def test_a_peer_that_is_not_there_is_told_and_leaves_nothing(run_folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(run_folder))
    with pytest.raises(PeerFailed, match="cannot be started"), side.running([str(run_folder / "absent")]):
        pass
    assert not any(run_folder.iterdir())


def test_a_peer_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(side, "ANSWER_SECONDS", 0.1)
    with running("hang") as peer, pytest.raises(PeerFailed, match="no answer within"):
        peer.ask("decide")


def test_an_answer_has_bounds(monkeypatch):
    monkeypatch.setattr(side, "MAX_ANSWER_BYTES", 100)
    with running("well") as peer, pytest.raises(PeerFailed, match="more than 100 bytes"):
        peer.ask("decide", count=50_000)


def test_nothing_of_a_peer_is_left_whatever_it_was_doing(run_folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(run_folder))
    monkeypatch.setattr(side, "ANSWER_SECONDS", 0.1)
    with running("hang") as peer:
        pid = peer._process.pid
        assert any(run_folder.iterdir())
        with pytest.raises(PeerFailed):
            peer.ask("decide")
    assert start_ticks(pid) is None
    assert not any(run_folder.iterdir())


def test_nothing_of_ours_can_be_found_by_a_peer(monkeypatch):
    # Given a path with our packages on it, as where the lab runs from a working tree
    monkeypatch.setenv("PYTHONPATH", "/here/are/ours")
    with running("tell") as peer:
        told = peer.ask("environment")
    assert "PATH" in told
    assert "PYTHONPATH" not in told
