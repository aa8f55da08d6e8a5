# SPDX-License-Identifier: Apache-2.0
"""Faults of daemons: kill, suspension, both also between two steps; stepped clocks, full disks, lost hosts."""

import contextlib
import os
import random
import resource
import signal
import time
from collections.abc import Sequence

from devstack.lab.chaos import daemon, stored_state
from devstack.lab.chaos.changes import CHANGES
from devstack.lab.chaos.daemon import PHASES, Phase
from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.faults.fault import (
    Fault,
    FaultKind,
    Steps,
    Target,
    draw_daemon,
    draw_store,
    limit_files,
)
from devstack.lab.chaos.faults.stores import restart_primary, restore_roles
from devstack.lab.chaos.history import HistoryWriter
from devstack.lab.chaos.load import NO_ANSWER, PAUSE, HistoryCaller, make_uuid
from devstack.servers.sentinel import SentinelGroup
from rpcapi import errors
from rpcapi.resources import names

CLOCK_STEPS = (-2_592_000, -3_600, -30, 30, 3_600, 2_592_000)
FENCE_SECONDS = 60.0
PROGRAMS = {"scheduler": "scheduler", "conductor": "conductor", "agent": "compute"}


def kill_daemon(fault: Fault, name: str) -> Steps:
    """Kill a daemon with its workers, or one worker, which its master replaces."""
    workers = fault.cluster.workers(name)
    if workers and fault.chance.random() < 0.5:
        _signal([fault.chance.choice(workers)], signal.SIGKILL)
        yield f"a worker of {name}"
    else:
        fault.cluster.kill_daemon(name)
        yield name
    fault.cluster.revive()


def suspend_daemon(fault: Fault, name: str) -> Steps:
    """Suspend a daemon's workers, sometimes for longer than leases and claim deadlines."""
    pids = fault.cluster.workers(name)
    _signal(pids, signal.SIGSTOP)
    yield name
    _signal(pids, signal.SIGCONT)
    fault.cluster.revive()


def draw_phase(cluster: ChaosCluster, chance: random.Random) -> Target:
    program = chance.choice(sorted(PHASES))
    targets, (name,) = draw_daemon(program)(cluster, chance)
    phase = chance.choice(PHASES[program])
    if not phase.needs_epoch:
        return targets, (name, phase, None)
    stores, (_partition, group) = draw_store(cluster, chance)
    return targets | stores, (name, phase, group)


def kill_at_phase(fault: Fault, name: str, phase: Phase, group: SentinelGroup | None) -> Steps:
    """Kill a worker between two steps of a verb or saga, if it reaches the phase in time."""
    return _signal_at_phase(fault, name, phase, group, signal.SIGKILL)


def suspend_at_phase(fault: Fault, name: str, phase: Phase, group: SentinelGroup | None) -> Steps:
    """Suspend a worker between two steps of a verb or saga, while everything else continues."""
    return _signal_at_phase(fault, name, phase, group, signal.SIGSTOP)


def _signal_at_phase(
    fault: Fault, name: str, phase: Phase, group: SentinelGroup | None, number: signal.Signals
) -> Steps:
    control = fault.cluster.control(name)
    daemon.arm(control, phase, number)
    if group is not None:
        restart_primary(group)
    yield f"{name} {phase.name}"
    daemon.disarm(control)
    pid = daemon.met_by(control)
    if pid is not None:
        _signal([pid], signal.SIGCONT)
    fault.cluster.revive()
    if group is not None:
        restore_roles(group)
    fault.occurred = pid is not None


def step_clock(fault: Fault, name: str) -> Steps:
    seconds, control = fault.chance.choice(CLOCK_STEPS), fault.cluster.control(name)
    daemon.step_clock(control, seconds)
    yield f"{name} by {seconds} s"
    daemon.step_clock(control, 0.0)


def fill_disk(fault: Fault, name: str) -> Steps:
    """Fill an agent's disk, simulated by RLIMIT_FSIZE at the size of its journals or at 0."""
    pids = fault.cluster.workers(name)
    journals = list(fault.cluster.state_folder(name).glob("*/journal"))
    size = min((path.stat().st_size for path in journals), default=0) if fault.chance.random() < 0.5 else 0
    for pid in pids:
        limit_files(pid, size)
    yield f"{name}, {size} bytes"
    for pid in pids:
        limit_files(pid, resource.RLIM_INFINITY)
    fault.cluster.revive()
    fault.occurred = bool(pids)


def lose_hosts(fault: Fault, name: str) -> Steps:
    """Cut the power of an agent's machines, which lose their guests and return after the evacuation."""
    cluster, folder = fault.cluster, fault.cluster.state_folder(name)
    fault.lost_hosts = [stored_state.host_name(path) for path in stored_state.host_folders(folder)]
    cluster.without_power.add(name)
    cluster.kill_daemon(name)
    for path in folder.glob("*/guests/*.json"):
        path.unlink()
    yield name
    try:
        with (
            contextlib.closing(HistoryWriter(cluster.history_file)) as history,
            contextlib.closing(HistoryCaller(cluster.client_conf, history)) as operator,
        ):
            fenced = [host for host in fault.lost_hosts if _fence(fault, operator, cluster.partition_of(name), host)]
            for uuid in _servers_on(operator, fenced):
                operator.change("evacuate", [uuid], lambda: False, {uuid: make_uuid(fault.chance)})
    finally:
        cluster.without_power.discard(name)
        cluster.revive()
    fault.occurred = fenced == fault.lost_hosts


def _fence(fault: Fault, operator: HistoryCaller, partition: str, host: str) -> bool:
    claims, token = operator.session.claims_of(partition), make_uuid(fault.chance)
    deadline = time.monotonic() + FENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            operator.session.call(claims.fence_host, host, token)
        except (*NO_ANSWER, errors.GanttError):  # the host is not down yet, or the store is not back
            time.sleep(PAUSE)
        else:
            return True
    return False


def _servers_on(operator: HistoryCaller, hosts: Sequence[str]) -> list[str]:
    conductor = operator.session.conductor
    return [
        server.uuid
        for server in operator.session.list_all(conductor.list_instances, "instances")
        if server.host and names.host_of(server.host) in hosts and server.status in CHANGES["evacuate"].begins
    ]


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


FAULTS = (
    *(FaultKind(f"{name} killed", draw_daemon(program), kill_daemon) for name, program in PROGRAMS.items()),
    *(
        FaultKind(f"{name} suspended", draw_daemon(program), suspend_daemon, (0.5, 9.0))
        for name, program in PROGRAMS.items()
    ),
    FaultKind("killed between two steps", draw_phase, kill_at_phase, (2.0, 5.0), needs_load=True),
    FaultKind("suspended between two steps", draw_phase, suspend_at_phase, (2.0, 9.0), needs_load=True),
    FaultKind("daemon's clock stepped", draw_daemon(*PROGRAMS.values()), step_clock, (1.0, 4.0)),
    FaultKind("agent's disk full", draw_daemon("compute"), fill_disk, (1.0, 5.0)),
    # Until the hosts count as down, and after other faults, during which the fence would be refused.
    FaultKind("hosts lost and evacuated", draw_daemon("compute"), lose_hosts, (9.0, 11.0)),
)
