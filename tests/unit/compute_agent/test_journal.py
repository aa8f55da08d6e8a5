# SPDX-License-Identifier: Apache-2.0
"""The journal's attempts, in memory and as the next agent reads them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent import journal as journal_module
from compute_agent.attempt import Attempt, AttemptRef, AttemptResult, ClaimEnd, Stage
from compute_agent.journal import Journal
from compute_agent.journal_file import JournalDamaged, JournalFile
from tests.unit.compute_agent.rig import Clock

HOUR = 3_600_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(folder: Path, clock: Clock) -> Journal:
    journal = Journal(JournalFile(folder / "journal", "alpha"), HOUR, clock)
    journal.open()
    return journal


def reopened(journal: Journal, folder: Path, clock: Clock) -> Journal:
    journal.close()
    return opened(folder, clock)


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


def test_the_next_agent_knows_every_attempt_as_it_was(tmp_path: Path, clock: Clock) -> None:
    # given one attempt at each stage, one of them reported
    journal = opened(tmp_path, clock)
    journal.put([intent(name) for name in "abcd"])
    journal.advance([AttemptRef("b", 1), AttemptRef("c", 1)], Stage.CONFIRMED)
    journal.advance([AttemptRef("c", 1)], Stage.SPAWNED, durable=False)
    journal.put([intent("d").to_ended(AttemptResult.FAILED, "it broke", ClaimEnd.RELEASE, clock())])
    journal.mark_reported([AttemptRef("c", 1)])
    before = everything(journal)

    after = reopened(journal, tmp_path, clock)

    assert everything(after) == before
    assert [attempt.uuid for attempt in after.at(Stage.SPAWNED)] == ["c"]
    assert [attempt.uuid for attempt in after.unreported()] == ["a", "b", "d"]
    assert [attempt.uuid for attempt in after.live()] == ["a", "b", "c"]
    gone = after.get(AttemptRef("d", 1))
    assert gone is not None
    assert (gone.outcome, gone.reason, gone.claim_end) == (AttemptResult.FAILED, "it broke", ClaimEnd.RELEASE)
    assert (gone.allocations, gone.owner["project"]) == ({}, "p")


def test_a_report_that_is_asked_for_again_is_owed_again(tmp_path: Path, clock: Clock) -> None:
    journal = opened(tmp_path, clock)
    journal.put([intent("a")])
    journal.mark_reported([AttemptRef("a", 1)])
    assert journal.unreported() == []
    journal.report_again(AttemptRef("a", 1))
    assert [attempt.ref for attempt in journal.unreported()] == [("a", 1)]


def test_attempts_of_an_instance_come_oldest_first(tmp_path: Path, clock: Clock) -> None:
    journal = opened(tmp_path, clock)
    journal.put([intent("a", 3), intent("a", 1), intent("b", 2)])
    assert [attempt.attempt for attempt in journal.of_instance("a")] == [1, 3]
    assert journal.of_instance("x") == []


def test_compaction_forgets_only_what_is_over_reported_and_old(tmp_path: Path, clock: Clock) -> None:
    journal = opened(tmp_path, clock)
    over = {
        name: intent(name).to_ended(AttemptResult.GONE, "", ClaimEnd.RELEASE, clock())
        for name in ("reported", "owed", "late")
    }
    journal.put([intent("live"), over["reported"], over["owed"], replace(over["late"], at_ms=clock() + 2)])
    journal.mark_reported([AttemptRef("live", 1), AttemptRef("reported", 1), AttemptRef("late", 1)])
    clock.now += HOUR + 1

    journal.compact()

    names = ["live", "owed", "late"]
    assert sorted(name for name in [*over, "live"] if journal.get(AttemptRef(name, 1))) == sorted(names)
    assert journal.of_instance("reported") == []
    after = reopened(journal, tmp_path, clock)
    assert sorted(name for name in [*over, "live"] if after.get(AttemptRef(name, 1))) == sorted(names)


def test_a_long_file_is_compacted_when_most_of_it_is_history(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_LINES", 20)
    journal = opened(tmp_path, clock)
    journal.put([intent("a")])
    for _ in range(30):
        journal.advance([AttemptRef("a", 1)], Stage.CONFIRMED, durable=False)
    length = (tmp_path / "journal").stat().st_size
    journal.compact_if_long()
    assert (tmp_path / "journal").stat().st_size < length / 3
    assert [attempt.uuid for attempt in reopened(journal, tmp_path, clock).at(Stage.CONFIRMED)] == ["a"]


def test_what_could_not_be_written_has_not_happened(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a journal whose disk is full for one write
    journal = opened(tmp_path, clock)
    journal.put([intent("a")])

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.put([intent("b")])
    assert journal.get(AttemptRef("b", 1)) is None

    # then the next write cleans up behind it
    journal.put([intent("c")])
    after = reopened(journal, tmp_path, clock)
    assert [attempt.uuid for attempt in after.live()] == ["a", "c"]


def test_a_record_without_sense_is_damage(tmp_path: Path, clock: Clock) -> None:
    file = JournalFile(tmp_path / "journal", "alpha")
    file.read()
    file.append([{"stage": "spawned", "ref": ["never", 1], "at_ms": 1}])
    file.close()
    with pytest.raises(JournalDamaged, match="makes no sense"):
        opened(tmp_path, clock)
