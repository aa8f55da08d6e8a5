# SPDX-License-Identifier: Apache-2.0
"""The control file of a daemon: a stepped clock, and a signal at an armed phase, once."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from compute_agent.attempts import saga
from devstack.lab.chaos import daemon
from devstack.lab.chaos.daemon import Phase

TARGET = "package.module:Class.method"


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """A control file's path without its suffix."""
    return tmp_path / "control-conductor-0"


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The signals that were sent."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def method(_owner: object, verb: str = "") -> str:
    """Return its argument, like a wrapped method."""
    return verb


@pytest.mark.parametrize("is_after", [False, True])
def test_signal_at_the_armed_phase_once(control: Path, signals: list[tuple[int, int]], is_after: bool) -> None:
    wrapped = daemon._with_phases(method, TARGET, control)
    assert wrapped(None, "a") == "a"
    assert not signals
    daemon.arm(control, Phase(TARGET, is_after), signal.SIGSTOP)
    assert daemon.met_by(control) is None
    assert [wrapped(None, "b"), wrapped(None, "c")] == ["b", "c"]
    assert signals == [(os.getpid(), signal.SIGSTOP)]
    assert daemon.met_by(control) == os.getpid()


def test_another_phase_or_argument_passes(control: Path, signals: list[tuple[int, int]]) -> None:
    wrapped = daemon._with_phases(method, TARGET, control)
    daemon.arm(control, Phase("package.module:Class.other", False), signal.SIGKILL)
    wrapped(None, "prepare")
    daemon.arm(control, Phase(TARGET, False, "confirm"), signal.SIGKILL)
    wrapped(None, "prepare")
    wrapped(None)
    assert not signals
    wrapped(None, "confirm")
    assert len(signals) == 1


def test_disarmed_phase_passes(control: Path, signals: list[tuple[int, int]]) -> None:
    wrapped = daemon._with_phases(method, TARGET, control)
    daemon.arm(control, Phase(TARGET, False), signal.SIGKILL)
    daemon.disarm(control)
    wrapped(None)
    assert not signals and daemon.met_by(control) is None


def test_clock_follows_the_offset(control: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    time = SimpleNamespace(time=lambda: 1000.0, time_ns=lambda: 1000 * 10**9)
    monkeypatch.setattr(daemon, "time", time)
    daemon._follow_offset(control)
    assert (time.time(), time.time_ns()) == (1000.0, 1000 * 10**9)
    daemon.step_clock(control, -3600.0)
    assert (time.time(), time.time_ns()) == (-2600.0, -2600 * 10**9)


def test_reminders_of_agents_are_more_frequent() -> None:
    for name, interval_ms in daemon.REMINDERS_MS.items():
        assert 0 < interval_ms < getattr(saga, name)
