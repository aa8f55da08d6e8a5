# SPDX-License-Identifier: Apache-2.0
"""The simulated hypervisor: seeded, and with guests that outlive it."""

from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import AttemptRef
from compute_agent.hypervisor import Hypervisor, SpawnFailed
from compute_agent.profile import HostProfile
from tests.unit.compute_agent.rig import Clock

PROFILE = HostProfile(spawn_failure_rate=0.3, refusal_rate=0.2, boot_delay=2.0, boot_delay_spread=0.5)
REFS = [AttemptRef(f"instance-{number}", attempt) for number in range(1000) for attempt in (1, 2)]


def opened(folder: Path, clock: Clock, profile: HostProfile = PROFILE) -> Hypervisor:
    hypervisor = Hypervisor(folder, lambda: profile, clock)
    hypervisor.open()
    return hypervisor


def fate(profile: HostProfile) -> list[tuple[bool, bool, float]]:
    return [(profile.refuses(ref), profile.spawn_fails(ref), profile.boot_seconds(ref.uuid)) for ref in REFS]


def test_the_same_seed_gives_the_same_fate_and_another_seed_another() -> None:
    assert fate(PROFILE) == fate(replace(PROFILE))
    assert fate(PROFILE) != fate(replace(PROFILE, seed="other"))


def test_a_fate_is_what_it_was_in_every_process_and_version() -> None:
    # Pinned: a change here changes every simulated run that was ever recorded.
    ref = AttemptRef("11111111-2222-3333-4444-555555555555", 1)
    chance = HostProfile().random_source("spawn", *ref).random()
    assert round(chance, 6) == 0.281859


def test_chances_come_as_often_as_they_are_set_and_anew_for_each_attempt() -> None:
    failures = [PROFILE.spawn_fails(ref) for ref in REFS]
    refusals = [PROFILE.refuses(ref) for ref in REFS]
    assert 0.25 < sum(failures) / len(REFS) < 0.35
    assert 0.16 < sum(refusals) / len(REFS) < 0.24
    assert failures[::2] != failures[1::2]


def test_rates_of_none_and_all_are_exact() -> None:
    none, all_ = HostProfile(), HostProfile(spawn_failure_rate=1.0, refusal_rate=1.0)
    assert not any(none.spawn_fails(ref) or none.refuses(ref) for ref in REFS)
    assert all(all_.spawn_fails(ref) and all_.refuses(ref) for ref in REFS)


def test_boot_delays_spread_round_their_median() -> None:
    delays = sorted(PROFILE.boot_seconds(ref.uuid) for ref in REFS)
    assert 1.8 < delays[len(delays) // 2] < 2.2
    assert delays[0] > 0
    assert {replace(PROFILE, boot_delay_spread=0.0).boot_seconds(ref.uuid) for ref in REFS} == {2.0}


def test_guests_outlive_the_hypervisors_process(tmp_path: Path) -> None:
    clock = Clock()
    first = opened(tmp_path, clock, HostProfile(boot_delay=2.0))
    guest = first.spawn(AttemptRef("a", 1), "alpha/node0")
    first.spawn(AttemptRef("b", 1), "alpha/node1")
    first.stop(AttemptRef("b", 1))
    assert guest.running_at_ms == clock.now + 2000

    clock.now += 60_000
    second = opened(tmp_path, clock)
    assert second.list() == [guest]
    assert second.get(AttemptRef("a", 1)) == guest


def test_a_repeated_spawn_returns_the_guest_that_is_there(tmp_path: Path) -> None:
    clock = Clock()
    hypervisor = opened(tmp_path, clock, HostProfile(boot_delay=2.0))
    guest = hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    clock.now += 5000
    assert hypervisor.spawn(AttemptRef("a", 1), "alpha/node0") == guest


def test_an_instance_never_runs_twice_on_a_host(tmp_path: Path) -> None:
    hypervisor = opened(tmp_path, Clock(), HostProfile())
    hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    with pytest.raises(SpawnFailed, match="attempt 1 of the instance still runs on alpha/node0"):
        hypervisor.spawn(AttemptRef("a", 2), "alpha/node1")
    assert [guest.attempt for guest in hypervisor.list()] == [1]


def test_stopping_is_only_for_the_attempts_own_guest_and_may_be_repeated(tmp_path: Path) -> None:
    hypervisor = opened(tmp_path, Clock(), HostProfile())
    hypervisor.spawn(AttemptRef("a", 2), "alpha/node0")
    hypervisor.stop(AttemptRef("a", 1))
    assert len(hypervisor.list()) == 1
    hypervisor.stop(AttemptRef("a", 2))
    hypervisor.stop(AttemptRef("a", 2))
    assert hypervisor.list() == []
    assert list(tmp_path.iterdir()) == []


def test_a_spawn_that_fails_leaves_nothing(tmp_path: Path) -> None:
    hypervisor = opened(tmp_path, Clock(), HostProfile(spawn_failure_rate=1.0))
    with pytest.raises(SpawnFailed):
        hypervisor.spawn(AttemptRef("a", 1), "alpha/node0")
    assert hypervisor.list() == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_half_written_when_the_agent_died_is_no_guest(tmp_path: Path) -> None:
    (tmp_path / ".a.json.new").write_text('{"uuid": "a"')
    assert opened(tmp_path, Clock()).list() == []


def test_a_file_that_is_no_guests_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ValueError, match=r"a\.json is not a guest's file"):
        opened(tmp_path, Clock())
