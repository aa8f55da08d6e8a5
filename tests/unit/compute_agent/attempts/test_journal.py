# SPDX-License-Identifier: Apache-2.0
"""Attempts of the journal, in memory and after reopening."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage
from compute_agent.attempts import journal as journal_module
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalDamaged, JournalFile
from rpcapi.resources.statuses import AttemptResult
from tests.support.agent.rig import ManualClock

HOUR = 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def open_journal(folder: Path, clock: ManualClock) -> Journal:
    journal = Journal(JournalFile(folder / "journal", "alpha"), HOUR, clock)
    journal.open()
    return journal


def reopen_journal(journal: Journal, folder: Path, clock: ManualClock) -> Journal:
    journal.close()
    return open_journal(folder, clock)


def intent(uuid: str, attempt: int = 1) -> Attempt:
    return Attempt(
        uuid=uuid,
        attempt=attempt,
        stage=Stage.INTENT,
        at_ms=1,
        request_id="req-1",
        name="alpha/node0",
        allocations={"alpha/node0": {"VCPU": 2}},
        owner={"type": "INSTANCE", "project": "p", "user": "u", "group_id": None},
    )


def everything(journal: Journal) -> dict[str, list[Attempt]]:
    return {str(stage): journal.at(stage) for stage in Stage} | {"unreported": journal.unreported()}


def test_reopened_journal_has_the_same_attempts(tmp_path: Path, clock: ManualClock) -> None:
    # given one attempt at each stage, one of them reported
    journal = open_journal(tmp_path, clock)
    journal.put([intent(name) for name in "abcd"])
    journal.advance([AttemptRef("b", 1), AttemptRef("c", 1)], Stage.CONFIRMED)
    journal.advance([AttemptRef("c", 1)], Stage.SPAWNED, durable=False)
    journal.put([intent("d").to_ended(AttemptResult.FAILED, "it broke", ClaimEnd.RELEASE, clock())])
    journal.mark_reported([AttemptRef("c", 1)])
    before = everything(journal)

    after = reopen_journal(journal, tmp_path, clock)

    assert everything(after) == before
    assert [attempt.uuid for attempt in after.at(Stage.SPAWNED)] == ["c"]
    assert [attempt.uuid for attempt in after.unreported()] == ["a", "b", "d"]
    assert [attempt.uuid for attempt in after.live()] == ["a", "b", "c"]
    ended = after.get(AttemptRef("d", 1))
    assert ended is not None
    assert (ended.outcome, ended.reason, ended.claim_end) == (AttemptResult.FAILED, "it broke", ClaimEnd.RELEASE)
    assert (ended.allocations, ended.owner["project"]) == ({}, "p")


def test_repeated_request_makes_an_outcome_unreported(tmp_path: Path, clock: ManualClock) -> None:
    journal = open_journal(tmp_path, clock)
    journal.put([intent("a")])
    journal.mark_reported([AttemptRef("a", 1)])
    assert journal.unreported() == []
    journal.report_again(AttemptRef("a", 1))
    assert [attempt.ref for attempt in journal.unreported()] == [("a", 1)]


def test_attempts_of_an_instance_are_sorted_oldest_first(tmp_path: Path, clock: ManualClock) -> None:
    journal = open_journal(tmp_path, clock)
    journal.put([intent("a", 3), intent("a", 1), intent("b", 2)])
    assert [attempt.attempt for attempt in journal.of_instance("a")] == [1, 3]
    assert journal.of_instance("x") == []


def test_compaction_drops_only_old_reported_ends(tmp_path: Path, clock: ManualClock) -> None:
    journal = open_journal(tmp_path, clock)
    ended_attempts = {
        name: intent(name).to_ended(AttemptResult.GONE, "", ClaimEnd.RELEASE, clock())
        for name in ("reported", "owed", "late")
    }
    journal.put(
        [
            intent("live"),
            ended_attempts["reported"],
            ended_attempts["owed"],
            replace(ended_attempts["late"], at_ms=clock() + 2),
        ]
    )
    journal.mark_reported([AttemptRef("live", 1), AttemptRef("reported", 1), AttemptRef("late", 1)])
    clock.now += HOUR + 1

    journal.compact()

    names = ["live", "owed", "late"]
    assert sorted(name for name in [*ended_attempts, "live"] if journal.get(AttemptRef(name, 1))) == sorted(names)
    assert journal.of_instance("reported") == []
    after = reopen_journal(journal, tmp_path, clock)
    assert sorted(name for name in [*ended_attempts, "live"] if after.get(AttemptRef(name, 1))) == sorted(names)


def test_long_file_of_obsolete_lines_is_compacted(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_LINES", 20)
    journal = open_journal(tmp_path, clock)
    journal.put([intent("a")])
    for _ in range(30):
        journal.advance([AttemptRef("a", 1)], Stage.CONFIRMED, durable=False)
    length = (tmp_path / "journal").stat().st_size
    journal.compact_if_long()
    assert (tmp_path / "journal").stat().st_size < length / 3
    assert [attempt.uuid for attempt in reopen_journal(journal, tmp_path, clock).at(Stage.CONFIRMED)] == ["a"]


def test_failed_write_changes_nothing(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    # given a journal whose disk is full for one write
    journal = open_journal(tmp_path, clock)
    journal.put([intent("a")])

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.put([intent("b")])
    assert journal.get(AttemptRef("b", 1)) is None

    # then the next write rewrites the file
    journal.put([intent("c")])
    after = reopen_journal(journal, tmp_path, clock)
    assert [attempt.uuid for attempt in after.live()] == ["a", "c"]


def test_invalid_record_raises_journal_damaged(tmp_path: Path, clock: ManualClock) -> None:
    file = JournalFile(tmp_path / "journal", "alpha")
    file.read()
    file.append([{"stage": "spawned", "ref": ["never", 1], "at_ms": 1}])
    file.close()
    with pytest.raises(JournalDamaged, match="invalid record"):
        open_journal(tmp_path, clock)
