# SPDX-License-Identifier: Apache-2.0
"""State files that a newer agent wrote are refused and left as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.attempts import journal_file
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from compute_agent.newer_state import NewerState
from compute_agent.simulator.hypervisor import Hypervisor
from compute_agent.simulator.profile import HostProfile
from rpcapi.resources.statuses import AttemptResult

FOREVER_MS = 1 << 50


def open_journal(path: Path) -> Journal:
    journal = Journal(JournalFile(path, "alpha"), FOREVER_MS)
    journal.open()
    return journal


ATTEMPT = Attempt("a", 1, Stage.SPAWNED, 1, outcome=AttemptResult.ACTIVE).as_dict()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"attempt": ATTEMPT | {"stage": "paused"}}, "attempt 1 of a: its stage is 'paused'.* only intent, confirmed"),
        ({"attempt": ATTEMPT | {"outcome": "moved"}}, "attempt 1 of a: its outcome is 'moved'"),
        ({"attempt": ATTEMPT | {"claim_end": "fence"}}, "attempt 1 of a: its claim_end is 'fence'"),
        ({"attempt": ATTEMPT | {"memory": 1}}, "attempt 1 of a: this agent does not know its memory"),
        ({"stage": "paused", "ref": ["a", 1], "at_ms": 1}, "stage of a: its stage is 'paused'"),
        ({"copied": 5, "ref": ["a", 1]}, "record: this agent does not know its copied"),
    ],
)
def test_journal_of_a_newer_agent_is_refused_and_unchanged(tmp_path: Path, record: dict[str, Any], why: str) -> None:
    path = tmp_path / "journal"
    file = JournalFile(path, "alpha")
    file.read()
    file.append([{"attempt": ATTEMPT}])
    file.append([record])
    file.close()
    before = path.read_bytes()
    with pytest.raises(NewerState, match=f"newer agent wrote the journal's {why}.*Start that release on this host"):
        open_journal(path)
    assert path.read_bytes() == before


def test_journal_with_a_newer_schema_is_refused_and_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    with monkeypatch.context() as newer:
        newer.setattr(journal_file, "SCHEMA", 2)
        JournalFile(path, "alpha").read()
    before = path.read_bytes()
    with pytest.raises(NewerState, match="schema 2; this agent supports 1"):
        open_journal(path)
    assert path.read_bytes() == before


def test_guest_of_a_newer_agent_is_refused_and_not_taken_as_damaged(tmp_path: Path) -> None:
    hypervisor = Hypervisor(tmp_path, HostProfile)
    hypervisor.open()
    hypervisor.spawn(AttemptRef("c", 1), "alpha/n1")
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"paused": True}))
    with pytest.raises(NewerState, match="does not know its paused"):
        Hypervisor(tmp_path, HostProfile).open()
    assert list(tmp_path.iterdir()) == [path]
