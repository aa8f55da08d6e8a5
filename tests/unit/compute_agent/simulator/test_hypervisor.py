# SPDX-License-Identifier: Apache-2.0
"""The simulated hypervisor: seeded random events, and persistent guests."""

from pathlib import Path

import pytest

from compute_agent import state_files
from compute_agent.attempt import AttemptRef
from compute_agent.simulator.hypervisor import Hypervisor, SpawnFailed
from compute_agent.simulator.profile import HostProfile
from tests.support.agent.rig import ManualClock

PROFILE = HostProfile(spawn_failure_rate=0.3, refusal_rate=0.2, boot_delay=2.0, boot_delay_spread=0.5)
REFS = [AttemptRef(f"instance-{number}", attempt) for number in range(1000) for attempt in (1, 2)]


def open_hypervisor(folder: Path, clock: ManualClock, profile: HostProfile = PROFILE) -> Hypervisor:
    hypervisor = Hypervisor(folder, lambda: profile, clock)
    hypervisor.open()
    return hypervisor


def test_guests_survive_the_process(tmp_path: Path) -> None:
    clock = ManualClock()
    first = open_hypervisor(tmp_path, clock, HostProfile(boot_delay=2.0))
    first.spawn(AttemptRef("a", 1), "alpha/node0")
    first.spawn(AttemptRef("b", 1), "alpha/node1")
    first.stop(AttemptRef("b", 1))
    (guest,) = first.list()
    assert guest.running_at_ms == clock.now + 2000

    clock.now += 60_000
    second = open_hypervisor(tmp_path, clock)
    assert second.list() == [guest]
    assert second.get(AttemptRef("a", 1)) == guest


def test_boot_takes_its_time(tmp_path: Path) -> None:
    clock = ManualClock()
    hypervisor, ref = open_hypervisor(tmp_path, clock, HostProfile(boot_delay=2.0)), AttemptRef("a", 1)
    assert hypervisor.boot_ms(ref) is None
    hypervisor.spawn(ref, "alpha/node0")
    assert hypervisor.boot_ms(ref) == 2000
    clock.now += 1999
    assert hypervisor.boot_ms(ref) == 1
    clock.now += 1
    assert hypervisor.boot_ms(ref) == 0


def test_guest_that_was_started_before_the_clock_stepped_back_has_booted(tmp_path: Path) -> None:
    clock = ManualClock()
    hypervisor, ref = open_hypervisor(tmp_path, clock, HostProfile(boot_delay=2.0)), AttemptRef("a", 1)
    hypervisor.spawn(ref, "alpha/node0")
    clock.now -= 3_600_000
    assert hypervisor.boot_ms(ref) == 0


def test_repeated_spawn_keeps_the_existing_guest(tmp_path: Path) -> None:
    clock = ManualClock()
    hypervisor = open_hypervisor(tmp_path, clock, HostProfile(boot_delay=2.0))
    hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    guests = hypervisor.list()
    clock.now += 5000
    hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    assert hypervisor.list() == guests


def test_an_instance_never_runs_twice_on_a_host(tmp_path: Path) -> None:
    hypervisor = open_hypervisor(tmp_path, ManualClock(), HostProfile())
    hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    with pytest.raises(SpawnFailed, match="attempt 1 of the instance still runs on alpha/node0"):
        hypervisor.spawn(AttemptRef("a", 2), "alpha/node1")
    assert [guest.attempt for guest in hypervisor.list()] == [1]


def test_stop_affects_only_the_guest_of_the_attempt_and_is_idempotent(tmp_path: Path) -> None:
    hypervisor = open_hypervisor(tmp_path, ManualClock(), HostProfile())
    hypervisor.spawn(AttemptRef("a", 2), "alpha/node0")
    hypervisor.stop(AttemptRef("a", 1))
    assert len(hypervisor.list()) == 1
    hypervisor.stop(AttemptRef("a", 2))
    hypervisor.stop(AttemptRef("a", 2))
    assert hypervisor.list() == []
    assert list(tmp_path.iterdir()) == []


def test_failed_spawn_leaves_no_file(tmp_path: Path) -> None:
    hypervisor = open_hypervisor(tmp_path, ManualClock(), HostProfile(spawn_failure_rate=1.0))
    with pytest.raises(SpawnFailed):
        hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    assert hypervisor.list() == []
    assert list(tmp_path.iterdir()) == []


def test_partially_written_guest_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".a.json.new").write_text('{"uuid": "a"')
    assert open_hypervisor(tmp_path, ManualClock()).list() == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"uuid": "a", "atte',
        "{}",
        "[]",
        '{"uuid": "b", "attempt": 1, "name": "alpha/node0", "running_at_ms": 1}',
        '{"uuid": "a", "attempt": "1", "name": "alpha/node0", "running_at_ms": 1}',
    ],
)
def test_damaged_guest_file_is_set_aside_and_named(tmp_path: Path, text: str) -> None:
    first = open_hypervisor(tmp_path, ManualClock(), HostProfile())
    first.spawn(AttemptRef("intact", 1), "alpha/node0")
    (tmp_path / "a@1.json").write_text(text)
    second = Hypervisor(tmp_path, HostProfile)
    assert second.open() == ["a"]
    assert second.list() == first.list()
    assert (tmp_path / "a@1.json.damaged").read_text() == text
    assert Hypervisor(tmp_path, HostProfile).open() == []


def test_guest_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hypervisor = open_hypervisor(tmp_path, ManualClock(), HostProfile())

    def fail(_folder: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(state_files, "sync_folder", fail)
    with pytest.raises(OSError, match="no space left"):
        hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    assert hypervisor.list() == []
    assert list(tmp_path.iterdir()) == []
