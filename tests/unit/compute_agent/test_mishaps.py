# SPDX-License-Identifier: Apache-2.0
"""Silence and restarts: none by default, each by its own rate, and by the seed the same on every run."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from compute_agent.mishaps import FaultInjector, SimulatedFault
from compute_agent.profile import HostProfile
from tests.unit.compute_agent.rig import Rig

REPORTS = 2000
COUNTER = "gantt_compute_mishaps_total"


def fates(profile: HostProfile, host: str = "alpha") -> list[SimulatedFault]:
    fault_injector = FaultInjector(host, lambda: profile)
    return [fault_injector.next_fault() for _ in range(REPORTS)]


def test_nothing_befalls_a_host_by_default() -> None:
    assert set(fates(HostProfile())) == {SimulatedFault.NONE}


def test_each_mishap_comes_as_often_as_it_is_set() -> None:
    found = Counter(fates(HostProfile(silence_rate=0.1, restart_rate=0.05)))
    assert 0.08 < found[SimulatedFault.SILENCE] / REPORTS < 0.12
    assert 0.035 < found[SimulatedFault.RESTART] / REPORTS < 0.065
    assert set(fates(HostProfile(silence_rate=0.1))) == {SimulatedFault.NONE, SimulatedFault.SILENCE}
    assert set(fates(HostProfile(restart_rate=0.1))) == {SimulatedFault.NONE, SimulatedFault.RESTART}


def test_mishaps_are_counted_by_kind() -> None:
    def counted() -> Counter[str]:
        kinds = ("silence", "restart")
        return Counter({kind: int(REGISTRY.get_sample_value(COUNTER, {"kind": kind}) or 0) for kind in kinds})

    before = counted()
    found = Counter(fate.name.lower() for fate in fates(HostProfile(silence_rate=0.1, restart_rate=0.05)))
    assert counted() - before == Counter({kind: found[kind] for kind in ("silence", "restart")})


def test_a_fate_depends_on_the_seed_and_the_host() -> None:
    profile = HostProfile(silence_rate=0.1, restart_rate=0.1)
    assert fates(profile) == fates(profile)
    assert fates(profile) != fates(profile, "beta")
    assert fates(profile) != fates(HostProfile(seed="other", silence_rate=0.1, restart_rate=0.1))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def test_a_silent_host_reports_again_when_its_time_is_over(rig: Rig) -> None:
    rig.profile = HostProfile(silence_rate=1.0, silence_time=300.0)
    rig.host._report_later()
    rig.report_queue.fire()
    assert rig.scheduler.reports == []
    fell_silent = rig.clock.now
    rig.profile = HostProfile()
    rig.report_queue.fire()
    assert rig.clock.now - fell_silent == 300_000
    assert len(rig.scheduler.reports) == 1
    rig.report_queue.fire()
    assert len(rig.scheduler.reports) == 2


def test_however_often_a_host_falls_silent_it_reports_after_each_time(rig: Rig) -> None:
    rig.profile = HostProfile(silence_rate=1.0, silence_time=300.0)
    rig.host._report_later()
    for _ in range(6):
        rig.report_queue.fire()
    assert len(rig.scheduler.reports) == 3


def test_a_host_that_restarts_reports_no_more_in_this_life(rig: Rig) -> None:
    rig.profile = HostProfile(restart_rate=1.0)
    rig.host._report_later()
    rig.report_queue.fire()
    assert rig.report_queue.waiting() == 0
    rig.queue.run()
    assert rig.restarts == 1
    assert rig.scheduler.reports == []
