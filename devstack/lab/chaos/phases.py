# SPDX-License-Identifier: Apache-2.0
"""Live phases: points between two steps of a verb or a saga, at which a process can be killed or suspended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_APPEND = "compute_agent.attempts.journal_file:JournalFile.append"
_HYPERVISOR = "compute_agent.simulator.hypervisor:Hypervisor."
_CLAIMS = "rpcapi.clients.claims:ClaimsAPI."
_COMPUTE = "rpcapi.clients.compute:ComputeAPI."
_REPORT = "rpcapi.clients.conductor:ConductorAPI.report_builds"
_RECORDS = "conductor.store.redis:RedisConductorStore."
_SCRIPT = "scheduler_svc.store.redis.connect:RedisConnection.run"


@dataclass(frozen=True, slots=True)
class Phase:
    """Before or after a call of ``target`` ("package.module:Class.method"), if its first argument is ``argument``."""

    target: str
    is_after: bool
    argument: str = ""

    @property
    def needs_epoch(self) -> bool:
        """Whether it is reached in a new epoch only."""
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
            "commit",  # of audits and of moves
        )
        for is_after in (False, True)
    ],
}
