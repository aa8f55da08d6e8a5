# SPDX-License-Identifier: Apache-2.0
"""Fault injection for simulated hosts: silence or a restart of the agent instead of a report."""

from collections.abc import Callable
from enum import Enum, auto

from compute_agent import metrics
from compute_agent.simulator.profile import HostProfile


class SimulatedFault(Enum):
    NONE = auto()
    SILENCE = auto()
    RESTART = auto()


class FaultInjector:
    """Injector of a host's faults; the same seed gives the same faults. Outlives restarts of the agent."""

    def __init__(self, host: str, profile: Callable[[], HostProfile]) -> None:
        self._host = host
        self.profile = profile
        self._reports = 0

    def next_fault(self) -> SimulatedFault:
        self._reports += 1
        profile = self.profile()
        if profile.restarts(self._host, self._reports):
            fault = SimulatedFault.RESTART
        elif profile.falls_silent(self._host, self._reports):
            fault = SimulatedFault.SILENCE
        else:
            return SimulatedFault.NONE
        metrics.INJECTED_FAULTS.labels(fault.name.lower()).inc()
        return fault
