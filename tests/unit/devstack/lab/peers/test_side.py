# SPDX-License-Identifier: Apache-2.0
"""Calls of a peer process: answers and all kinds of failures."""

import sys
from pathlib import Path

import pytest

from devstack.lab.peers import side
from devstack.lab.peers.side import PeerFailed
from devstack.servers.process import start_ticks

FAKE = Path(__file__).with_name("fake_peer.py")


def running(behaviour):
    return side.running([sys.executable, str(FAKE), behaviour])


def test_peer_answers_repeated_calls():
    with running("well") as peer:
        assert peer.ask("decide", first=0, count=3) == [0.5, 0.5, 0.5]
        assert peer.ask("decide", first=3, count=1) == [0.5]


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("error", "decide: no decide today"),
        ("die", "the process ended: it hurts"),
    ],
)
def test_peer_failure_is_reported(behaviour, message):
    with running(behaviour) as peer, pytest.raises(PeerFailed, match=message):
        peer.ask("decide")


def test_missing_peer_program_is_reported_and_leaves_nothing(run_folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(run_folder))
    with pytest.raises(PeerFailed, match="cannot be started"), side.running([str(run_folder / "absent")]):
        pass
    assert not any(run_folder.iterdir())


def test_silent_peer_times_out(monkeypatch):
    monkeypatch.setattr(side, "ANSWER_SECONDS", 0.1)
    with running("hang") as peer, pytest.raises(PeerFailed, match="no answer within"):
        peer.ask("decide")


def test_hanging_peer_and_its_folder_are_removed(run_folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(run_folder))
    monkeypatch.setattr(side, "ANSWER_SECONDS", 0.1)
    with running("hang") as peer:
        pid = peer._process.pid
        assert any(run_folder.iterdir())
        with pytest.raises(PeerFailed):
            peer.ask("decide")
    assert start_ticks(pid) is None
    assert not any(run_folder.iterdir())


def test_peer_imports_no_package_of_gantt(monkeypatch):
    # Given a PYTHONPATH with gantt's packages, as when the lab runs from a working tree
    monkeypatch.setenv("PYTHONPATH", "/here/are/ours")
    with running("tell") as peer:
        environment = peer.ask("environment")
    assert "PATH" in environment
    assert environment["PYTHONPATH"] == str(side.INSIDE)
