# SPDX-License-Identifier: Apache-2.0
"""State files of the previous release are read; those of a newer one are refused and left as they are."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempt import Attempt, AttemptResult, ClaimEnd, Stage
from compute_agent.attempts import journal_file
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from compute_agent.newer_state import NewerState
from compute_agent.simulator.hypervisor import Guest, Hypervisor
from compute_agent.simulator.profile import HostProfile

# A journal with an attempt at each stage, and a guest, as commit 2a2b9b82 wrote them.
FORMER = Path(__file__).with_name("former_state")
FOREVER_MS = 1 << 50


def open_journal(path: Path) -> Journal:
    journal = Journal(JournalFile(path, "alpha"), FOREVER_MS)
    journal.open()
    return journal


def test_journal_of_the_former_release_is_read(tmp_path: Path) -> None:
    path = Path(shutil.copy(FORMER / "journal", tmp_path))
    journal = open_journal(path)
    attempts = {attempt.uuid: attempt for attempt in journal.all()}
    stages = {uuid: (attempt.stage, attempt.reported) for uuid, attempt in attempts.items()}
    assert stages == {
        "a": (Stage.INTENT, False),
        "b": (Stage.CONFIRMED, False),
        "c": (Stage.SPAWNED, True),
        "d": (Stage.GONE, False),
    }
    ended = attempts["d"]
    assert (ended.outcome, ended.reason, ended.claim_end) == (AttemptResult.FAILED, "spawn failed", ClaimEnd.RELEASE)
    assert attempts["b"].assignments == {"numa": {"cell": 0}}
    assert all(
        (attempt.instance, attempt.moved_to, attempt.operation) == ("", None, 0) for attempt in attempts.values()
    )


def test_attempts_of_the_former_release_are_written_as_they_were(tmp_path: Path) -> None:
    lines = (FORMER / "journal").read_text(encoding="utf-8").splitlines()
    former = [record["attempt"] for line in lines[2:] for record in json.loads(line[9:]) if "attempt" in record]
    assert len(former) == 5
    assert [json.loads(json.dumps(Attempt.from_dict(raw).as_dict())) for raw in former] == former


def test_guest_of_the_former_release_is_read(tmp_path: Path) -> None:
    shutil.copy(FORMER / "c.json", tmp_path)
    hypervisor = Hypervisor(tmp_path, HostProfile)
    assert hypervisor.open() == []
    assert hypervisor.list() == [Guest("c", 1, "alpha/n1", 1_700_000_000_000)]


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
    with pytest.raises(NewerState, match="schema 2, and this agent supports 1"):
        open_journal(path)
    assert path.read_bytes() == before


def test_guest_of_a_newer_agent_is_refused_and_not_taken_as_damaged(tmp_path: Path) -> None:
    path = Path(shutil.copy(FORMER / "c.json", tmp_path))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"paused": True}))
    with pytest.raises(NewerState, match="does not know its paused"):
        Hypervisor(tmp_path, HostProfile).open()
    assert [file.name for file in tmp_path.iterdir()] == ["c.json"]
