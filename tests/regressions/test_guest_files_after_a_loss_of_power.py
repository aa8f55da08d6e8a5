# SPDX-License-Identifier: Apache-2.0
"""A guest's file is on disk before its attempt is journalled as spawned; a damaged one does not stop the agent.

Guest files were not synced, so that a loss of power could leave an empty one, and the agent did not start with it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.attempts.journal_file import JournalDamaged
from compute_agent.simulator.hypervisor import Hypervisor
from compute_agent.simulator.profile import HostProfile
from tests.support.agent.rig import AgentRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    rig.build(rig.intent("a"), rig.intent("b"))
    rig.queue.settle()
    yield rig
    rig.stop()


def test_the_file_and_its_folder_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        sync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    hypervisor = Hypervisor(tmp_path, HostProfile)
    hypervisor.open()
    hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    assert synced == [(tmp_path / "a@1.json").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize("remaining", [0, 20])
def test_a_guest_with_a_torn_file_is_spawned_again_under_its_claim(rig: AgentRig, remaining: int) -> None:
    path = rig.folder / "guests" / "a@1.json"
    os.truncate(path, remaining)
    rig.stop()
    rig.serve()
    rig.queue.settle()
    assert sorted(rig.guests()) == [("a", 1), ("b", 1)]
    assert rig.guest_manager is not None
    assert sorted(attempt.ref for attempt in rig.guest_manager.journal.at(Stage.SPAWNED)) == [("a", 1), ("b", 1)]
    assert rig.ledger.states["a", 1] == "confirmed"
    assert rig.conductor.outcomes == {("a", 1): ["active"], ("b", 1): ["active"]}


def test_an_ended_guest_with_a_torn_file_is_not_started(rig: AgentRig) -> None:
    text = (rig.folder / "guests" / "a@1.json").read_text()
    rig.terminate(("a", 1))
    rig.queue.settle()
    (rig.folder / "guests" / "a@1.json").write_text(text[:20])  # the removal was lost with the power
    rig.stop()
    rig.serve()
    rig.queue.settle()
    assert sorted(rig.guests()) == [("b", 1)]


def test_torn_files_without_a_journal_are_no_empty_host(rig: AgentRig) -> None:
    rig.stop()
    for path in (rig.folder / "guests").iterdir():
        os.truncate(path, 0)
    (rig.folder / "journal").unlink()
    with pytest.raises(JournalDamaged, match="2 guests but an empty journal"):
        rig.start()
