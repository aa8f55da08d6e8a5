# SPDX-License-Identifier: Apache-2.0
"""Injected silence and restarts: none by default, configured rates, reproducible by seed."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from compute_agent.simulator.faults import FaultInjector, SimulatedFault
from compute_agent.simulator.profile import HostProfile
from tests.support.agent.rig import AgentRig

REPORTS = 2000
COUNTER = "gantt_compute_injected_faults_total"


def draw_faults(profile: HostProfile, host: str = "alpha") -> list[SimulatedFault]:
    fault_injector = FaultInjector(host, lambda: profile)
    return [fault_injector.next_fault() for _ in range(REPORTS)]


def test_no_faults_by_default() -> None:
    assert set(draw_faults(HostProfile())) == {SimulatedFault.NONE}


def test_faults_occur_at_the_configured_rates() -> None:
    counts = Counter(draw_faults(HostProfile(silence_rate=0.1, restart_rate=0.05)))
    assert 0.08 < counts[SimulatedFault.SILENCE] / REPORTS < 0.12
    assert 0.035 < counts[SimulatedFault.RESTART] / REPORTS < 0.065
    assert set(draw_faults(HostProfile(silence_rate=0.1))) == {SimulatedFault.NONE, SimulatedFault.SILENCE}
    assert set(draw_faults(HostProfile(restart_rate=0.1))) == {SimulatedFault.NONE, SimulatedFault.RESTART}


def test_injected_faults_are_counted_by_kind() -> None:
    def counter_values() -> Counter[str]:
        kinds = ("silence", "restart")
        return Counter({kind: int(REGISTRY.get_sample_value(COUNTER, {"kind": kind}) or 0) for kind in kinds})

    before = counter_values()
    counts = Counter(fate.name.lower() for fate in draw_faults(HostProfile(silence_rate=0.1, restart_rate=0.05)))
    assert counter_values() - before == Counter({kind: counts[kind] for kind in ("silence", "restart")})


def test_faults_depend_on_seed_and_host() -> None:
    profile = HostProfile(silence_rate=0.1, restart_rate=0.1)
    assert draw_faults(profile) == draw_faults(profile)
    assert draw_faults(profile) != draw_faults(profile, "beta")
    assert draw_faults(profile) != draw_faults(HostProfile(seed="other", silence_rate=0.1, restart_rate=0.1))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def test_silent_host_reports_again_after_silence_time(rig: AgentRig) -> None:
    rig.profile = HostProfile(silence_rate=1.0, silence_time=300.0)
    rig.host.reports._report_later()
    rig.report_queue.fire()
    assert rig.scheduler.reports == []
    fell_silent = rig.clock.now
    rig.profile = HostProfile()
    rig.report_queue.fire()
    assert rig.clock.now - fell_silent == 300_000
    assert len(rig.scheduler.reports) == 1
    rig.report_queue.fire()
    assert len(rig.scheduler.reports) == 2


def test_host_reports_after_each_silence(rig: AgentRig) -> None:
    rig.profile = HostProfile(silence_rate=1.0, silence_time=300.0)
    rig.host.reports._report_later()
    for _ in range(6):
        rig.report_queue.fire()
    assert len(rig.scheduler.reports) == 3


def test_restarting_host_schedules_no_further_reports(rig: AgentRig) -> None:
    rig.profile = HostProfile(restart_rate=1.0)
    rig.host.reports._report_later()
    rig.report_queue.fire()
    assert rig.report_queue.waiting() == 0
    rig.queue.run()
    assert rig.restarts == 1
    assert rig.scheduler.reports == []
