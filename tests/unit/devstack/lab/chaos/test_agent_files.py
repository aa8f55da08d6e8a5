# SPDX-License-Identifier: Apache-2.0
"""Guests and journals as agents write them, read by the checker's own reader."""

from pathlib import Path

import pytest

from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from compute_agent.simulator.hypervisor import Hypervisor
from compute_agent.simulator.profile import HostProfile
from devstack.lab.chaos import stored_state
from devstack.lab.chaos.final_state import GuestFile, JournalledAttempt
from rpcapi.resources.statuses import AttemptResult

ALLOCATIONS = {"h 1/node0": {"VCPU": 2}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of service host ``h 1`` in a state folder."""
    host = tmp_path / "h%201"
    host.mkdir()
    return host


def journal(folder: Path) -> Journal:
    """Open the host's journal."""
    opened = Journal(JournalFile(folder / "journal", "h 1"), 60_000)
    opened.open()
    return opened


def test_guests(folder: Path, tmp_path: Path) -> None:
    journal(folder)
    hypervisor = Hypervisor(folder / "guests", HostProfile)
    hypervisor.open()
    hypervisor.spawn(AttemptRef("a", 3), "h 1/node0")
    assert stored_state.read_guests(tmp_path) == [GuestFile("h 1", "a", 3, "h 1/node0")]
    (folder / "guests" / "b.json").write_text("")
    with pytest.raises(ValueError, match=r"b\.json is not a guest file"):
        stored_state.read_guests(tmp_path)


def test_attempts_with_their_stages(folder: Path, tmp_path: Path) -> None:
    lines = journal(folder)
    attempt = Attempt("a", 1, Stage.INTENT, 1, name="h 1/node0", allocations=ALLOCATIONS)
    lines.put([attempt])
    lines.advance([attempt.ref], Stage.CONFIRMED)
    lines.advance([attempt.ref], Stage.SPAWNED, durable=False)
    lines.mark_reported([attempt.ref])
    (running,) = stored_state.read_attempts(tmp_path)
    expected = JournalledAttempt("h 1", "a", 1, ("intent", "confirmed", "spawned"), "h 1/node0", ALLOCATIONS)
    assert running == expected and running.is_live and running.was_spawned
    lines.put([attempt.to_ended(AttemptResult.GONE, "stopped", ClaimEnd.RELEASE, 2)])
    (ended,) = stored_state.read_attempts(tmp_path)
    assert ended.stages == ("intent", "confirmed", "spawned", "gone") and not ended.is_live
    assert (ended.outcome, ended.reason) == ("gone", "stopped")


def test_torn_line_is_ignored_and_damage_is_not(folder: Path, tmp_path: Path) -> None:
    lines = journal(folder)
    lines.put([Attempt("a", 1, Stage.INTENT, 1)])
    path = folder / "journal"
    whole = path.read_bytes()
    path.write_bytes(whole + b"0123 [torn")
    assert [item.uuid for item in stored_state.read_attempts(tmp_path)] == ["a"]
    path.write_bytes(b"x" + whole)
    with pytest.raises(ValueError, match=r"line 1 of the journal .* is damaged"):
        stored_state.read_attempts(tmp_path)
