# SPDX-License-Identifier: Apache-2.0
"""Real daemon with a steppable clock, which a signal can stop at an exact phase.

Run ``python -m devstack.lab.chaos.daemon PROGRAM --config-file ...``. GANTT_CHAOS is the path of the control files
without suffix: ``.clock`` contains the clock's offset in seconds, ``.phase`` describes a phase. The first worker to
reach the phase renames the file to ``.met``, writes its process id there, and sends itself the signal.
"""

import functools
import importlib
import json
import mmap
import os
import pkgutil
import signal
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_APPEND = "compute_agent.attempts.journal_file:JournalFile.append"
_HYPERVISOR = "compute_agent.simulator.hypervisor:Hypervisor."
_CLAIMS = "rpcapi.clients.claims:ClaimsAPI."
_COMPUTE = "rpcapi.clients.compute:ComputeAPI."
_REPORT = "rpcapi.clients.conductor:ConductorAPI.report_builds"
_RECORDS = "conductor.store.redis:RedisConductorStore."
_SCRIPT = "scheduler_svc.store.redis.connect:RedisConnection.run"

CONTROL = "GANTT_CHAOS"
PROGRAM = "GANTT_CHAOS_PROGRAM"
FACTORY = "GANTT_CHAOS_FACTORY"  # name of the daemon's service factory, as package.module:name
SERVICES = {"compute": "compute_agent", "conductor": "conductor", "scheduler": "scheduler_svc"}
NO_OFFSET = struct.pack("d", 0.0)
AGENT_SAGA = "compute_agent.attempts.saga"
REMINDERS_MS = {"REMIND_MS": 15_000, "REMIND_ALL_MS": 60_000}  # shorter than minutes and hours, as a run is


@dataclass(frozen=True, slots=True)
class Phase:
    """Point before or after a call of ``target`` (package.module:Class.method) with first ``argument``, if not ""."""

    target: str
    is_after: bool
    argument: str = ""

    @property
    def needs_epoch(self) -> bool:
        return self.argument.startswith("audit")

    @property
    def name(self) -> str:
        argument = f"({self.argument})" if self.argument else ""
        return f"{'after' if self.is_after else 'before'} {self.target.rpartition(':')[2]}{argument}"


def _around(*targets: str) -> list[Phase]:
    return [Phase(target, is_after) for target in targets for is_after in (False, True)]


PHASES: Mapping[str, Sequence[Phase]] = {
    "compute": _around(
        _APPEND,
        *(_HYPERVISOR + step for step in ("spawn", "stop", "power_off", "receive", "pause")),
        *(_CLAIMS + "confirm_claims", _CLAIMS + "release_claims", _REPORT),
    ),
    "conductor": _around(
        _RECORDS + "record",
        _RECORDS + "write",
        "rpcapi.clients.scheduler:SchedulerAPI.select_destinations",
        *(_CLAIMS + "begin_moves", _CLAIMS + "end_moves"),
        *(_COMPUTE + message for message in ("build_instances", "terminate_instances", "change_guests")),
        *(_COMPUTE + message for message in ("prepare_incoming", "copy_guests")),
    ),
    "scheduler": [
        Phase(_SCRIPT, is_after, verb)
        for verb in (
            *("prepare", "confirm", "release", "report"),
            "commit",  # ends audits and moves
        )
        for is_after in (False, True)
    ],
}


def step_clock(control: Path, seconds: float) -> None:
    with control.with_suffix(".clock").open("r+b") as file:
        file.write(struct.pack("d", seconds))


def arm(control: Path, phase: Phase, number: signal.Signals) -> None:
    draft = control.with_suffix(".draft")
    draft.write_text(json.dumps({**asdict(phase), "signal": number.name}))
    control.with_suffix(".met").unlink(missing_ok=True)
    draft.replace(control.with_suffix(".phase"))


def disarm(control: Path) -> None:
    control.with_suffix(".phase").unlink(missing_ok=True)


def met_by(control: Path) -> int | None:
    try:
        return int(control.with_suffix(".met").read_text())
    except (FileNotFoundError, ValueError):
        return None


def make_service(conf: Any, index: int) -> Any:
    """Wrap the phases' methods in this worker, let agents report guests often, and create the daemon's own service."""
    control, program = Path(os.environ[CONTROL]), os.environ[PROGRAM]
    for name, interval_ms in REMINDERS_MS.items():
        setattr(importlib.import_module(AGENT_SAGA), name, interval_ms)
    for target in {phase.target for phase in PHASES[program]}:
        module, _, path = target.partition(":")
        owner, _, method = path.partition(".")
        cls = getattr(importlib.import_module(module), owner)
        setattr(cls, method, _with_phases(getattr(cls, method), target, control))
    return pkgutil.resolve_name(os.environ[FACTORY])(conf, index)


def _with_phases(method: Callable[..., Any], target: str, control: Path) -> Callable[..., Any]:
    armed = control.with_suffix(".phase")

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if armed.exists():
            _meet(control, target, False, args)
        result = method(*args, **kwargs)
        if armed.exists():
            _meet(control, target, True, args)
        return result

    return wrapped


def _meet(control: Path, target: str, is_after: bool, args: tuple[Any, ...]) -> None:
    try:
        document = json.loads(control.with_suffix(".phase").read_text())
    except (FileNotFoundError, ValueError):
        return
    if (document["target"], document["is_after"]) != (target, is_after):
        return
    if document["argument"] and (len(args) < 2 or args[1] != document["argument"]):
        return
    own = control.with_suffix(f".{os.getpid()}")
    try:
        control.with_suffix(".phase").rename(own)
    except FileNotFoundError:
        return
    own.write_text(str(os.getpid()))
    own.rename(control.with_suffix(".met"))
    os.kill(os.getpid(), signal.Signals[document["signal"]])


def _follow_offset(control: Path) -> None:
    path = control.with_suffix(".clock")
    path.write_bytes(NO_OFFSET)
    with path.open("rb") as file:
        offset = mmap.mmap(file.fileno(), len(NO_OFFSET), prot=mmap.PROT_READ)
    real_time, real_time_ns = time.time, time.time_ns
    time.time = lambda: real_time() + struct.unpack("d", offset)[0]
    time.time_ns = lambda: real_time_ns() + int(1e9 * struct.unpack("d", offset)[0])


def main() -> int:
    program = sys.argv.pop(1)
    os.environ[PROGRAM] = program
    _follow_offset(Path(os.environ[CONTROL]))
    command: Any = importlib.import_module(f"{SERVICES[program]}.cmd.{program}")
    run = command.run

    def run_wrapped(prog: str, factory: str, **options: Any) -> Any:
        os.environ[FACTORY] = factory
        return run(prog, "devstack.lab.chaos.daemon:make_service", **options)

    command.run = run_wrapped
    return int(command.main())


if __name__ == "__main__":
    sys.exit(main())
