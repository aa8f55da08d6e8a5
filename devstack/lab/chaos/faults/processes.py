# SPDX-License-Identifier: Apache-2.0
"""Faults of daemons: kill, suspension, both also between two steps; stepped clocks and full disks."""

import contextlib
import os
import resource
import signal
from typing import ClassVar

from devstack.lab.chaos import daemon
from devstack.lab.chaos.daemon import PHASES, Phase
from devstack.lab.chaos.faults.fault import STORE, DaemonFault, Fault, limit_files
from devstack.lab.chaos.faults.stores import choose_store, restart_primary, restore_roles
from devstack.servers.sentinel import SentinelGroup


class DaemonKilled(DaemonFault):
    """SIGKILL of a daemon with its workers, or of one worker, which its master replaces."""

    def inject(self) -> str:
        workers = self.cluster.workers(self.name)
        if workers and self.chance.random() < 0.5:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.chance.choice(workers), signal.SIGKILL)
            return f"a worker of {self.name}"
        self.cluster.kill_daemon(self.name)
        return self.name


class DaemonPaused(DaemonFault):
    """SIGSTOP of a daemon's workers, sometimes for longer than leases and claim deadlines."""

    HOLD = (0.5, 9.0)
    pids: tuple[int, ...] = ()

    def inject(self) -> str:
        self.pids = tuple(self.cluster.workers(self.name))
        _signal(self.pids, signal.SIGSTOP)
        return self.name

    def heal(self) -> bool:
        _signal(self.pids, signal.SIGCONT)
        return super().heal()


def of_programs(fault: type[DaemonFault], what: str) -> list[type[DaemonFault]]:
    programs = {"scheduler": "scheduler", "conductor": "conductor", "agent": "compute"}
    return [
        type(fault.__name__, (fault,), {"KIND": f"{name} {what}", "PROGRAM": program})
        for name, program in programs.items()
    ]


class _AtPhase(DaemonFault):
    """Signal to a daemon at a phase, if the daemon reaches it before ``heal``."""

    NEEDS_LOAD = True
    NUMBER: ClassVar[signal.Signals]
    phase: Phase
    group: SentinelGroup

    def choose(self) -> None:
        program = self.chance.choice(sorted(PHASES))
        self.name = self.draw_daemon(program)
        self.phase = self.chance.choice(PHASES[program])
        self.targets = frozenset({self.name})
        if self.phase.needs_epoch:
            partition, self.group = choose_store(self.cluster, self.chance)
            self.targets |= {f"{STORE} {partition}"}

    def inject(self) -> str:
        daemon.arm(self.cluster.control(self.name), self.phase, self.NUMBER)
        if self.phase.needs_epoch:
            restart_primary(self.group)
        return f"{self.name} {self.phase.name}"

    def heal(self) -> bool:
        control = self.cluster.control(self.name)
        daemon.disarm(control)
        pid = daemon.met_by(control)
        if pid is not None:
            _signal((pid,), signal.SIGCONT)
        self.cluster.revive()
        if self.phase.needs_epoch:
            restore_roles(self.group)
        return pid is not None


class KilledAtPhase(_AtPhase):
    """Kill of a worker between two steps of a verb or saga."""

    KIND = "killed between two steps"
    HOLD = (2.0, 5.0)
    NUMBER = signal.SIGKILL


class PausedAtPhase(_AtPhase):
    """Suspension of a worker between two steps of a verb or saga, while everything else continues."""

    KIND = "suspended between two steps"
    NUMBER = signal.SIGSTOP
    HOLD = (2.0, 9.0)


class ClockStepped(DaemonFault):
    KIND = "daemon's clock stepped"
    HOLD = (1.0, 4.0)
    STEPS: ClassVar[tuple[int, ...]] = (-2_592_000, -3_600, -30, 30, 3_600, 2_592_000)

    def choose(self) -> None:
        self.name = self.chance.choice(sorted(self.cluster.programs))
        self.targets = frozenset({self.name})

    def inject(self) -> str:
        seconds = self.chance.choice(self.STEPS)
        daemon.step_clock(self.cluster.control(self.name), seconds)
        return f"{self.name} by {seconds} s"

    def heal(self) -> bool:
        daemon.step_clock(self.cluster.control(self.name), 0.0)
        return True


class DiskFull(DaemonFault):
    """Full disk of an agent, simulated by RLIMIT_FSIZE at the size of its journals or at 0."""

    KIND = "agent's disk full"
    PROGRAM = "compute"
    HOLD = (1.0, 5.0)
    pids: tuple[int, ...] = ()

    def inject(self) -> str:
        self.pids = tuple(self.cluster.workers(self.name))
        journals = list(self.cluster.state_folder(self.name).glob("*/journal"))
        size = min((path.stat().st_size for path in journals), default=0) if self.chance.random() < 0.5 else 0
        for pid in self.pids:
            limit_files(pid, size)
        return f"{self.name}, {size} bytes"

    def heal(self) -> bool:
        for pid in self.pids:
            limit_files(pid, resource.RLIM_INFINITY)
        self.cluster.revive()
        return bool(self.pids)


def _signal(pids: tuple[int, ...], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


FAULTS: tuple[type[Fault], ...] = (
    *of_programs(DaemonKilled, "killed"),
    *of_programs(DaemonPaused, "suspended"),
    KilledAtPhase,
    PausedAtPhase,
    ClockStepped,
    DiskFull,
)
