# SPDX-License-Identifier: Apache-2.0
"""A crafted run without violations, to which a test adds one fault."""

from dataclasses import dataclass, field, replace
from typing import Any

from devstack.lab.chaos.checker import CheckReport, check
from devstack.lab.chaos.final_state import (
    FinalState,
    GuestFile,
    InstanceState,
    JournalledAttempt,
    MigrationState,
    StoredClaim,
    StoredPartition,
)
from devstack.lab.chaos.history import CallHistory, CallOutcome, ClaimSighting, GuestSighting, Operation
from devstack.lab.chaos.violations import ViolationKind

RUNS, DELETED, REFUSED = "runs", "deleted", "refused"
SIZE = {"VCPU": 2}
USED, USED_TWICE = {**SIZE, "claims": 1}, {"VCPU": 4, "claims": 2}  # sums of one claim and of two


@dataclass
class CraftedRun:
    """One instance that runs, one that was deleted, one that no host could take."""

    history: CallHistory = field(default_factory=CallHistory)
    guests: list[GuestFile] = field(default_factory=lambda: [GuestFile("h1", RUNS, 1, "h1/node0")])
    attempts: list[JournalledAttempt] = field(
        default_factory=lambda: [
            JournalledAttempt("h1", RUNS, 1, ("intent", "confirmed", "spawned"), "h1/node0", {"h1/node0": SIZE}),
            JournalledAttempt("h1", DELETED, 1, ("intent", "confirmed", "spawned", "gone"), "h1/node0", {}, "gone"),
        ]
    )
    partition: StoredPartition = field(
        default_factory=lambda: StoredPartition(
            name="p",
            epoch=1,
            time_ms=10_000,
            claims=[claim()],
            capacity={"h1/node0": {"VCPU": 4}, "h2/node0": {"VCPU": 4}},
            used={"h1/node0": USED},
            ended={DELETED: {1: "released"}},
        )
    )
    instances: dict[str, InstanceState] = field(
        default_factory=lambda: {
            RUNS: InstanceState(RUNS, "ACTIVE", 1, "h1/node0"),
            DELETED: InstanceState(DELETED, "DELETED", 1, "h1/node0"),
            REFUSED: InstanceState(REFUSED, "ERROR", 1, None, "no host fits"),
        }
    )

    migrations: dict[str, MigrationState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        acknowledged = CallOutcome.ACKNOWLEDGED
        self.history.operations += [
            Operation("boot", [RUNS, DELETED, REFUSED], 1.0, 1.1, acknowledged),
            Operation("delete", [DELETED], 5.0, 5.1, acknowledged),
        ]
        self.history.guests += [GuestSighting(2.0, "h1", RUNS, 1, False), GuestSighting(2.0, "h1", DELETED, 1, False)]
        for consumer in (RUNS, DELETED):
            self.history.claims += [write(consumer, 1, "prepared"), write(consumer, 1, "confirmed")]
        self.history.claims += [write(DELETED, 1, "released")]

    def change_partition(self, **values: Any) -> None:
        """Replace fields of the partition."""
        self.partition = replace(self.partition, **values)

    def check(self) -> CheckReport:
        """Run the checker."""
        state = FinalState(self.guests, self.attempts, [self.partition], self.instances, self.migrations)
        return check(self.history, state)

    def kinds(self) -> set[ViolationKind]:
        """Return the kinds of the violations."""
        return {violation.kind for violation in self.check().violations}


def claim(consumer: str = RUNS, **values: Any) -> StoredClaim:
    """Return a confirmed claim of attempt 1 on h1/node0."""
    return replace(StoredClaim(consumer, 1, "confirmed", "h1/node0", {"h1/node0": SIZE}), **values)


def write(consumer: str, attempt: int, state: str, node: str = "h1/node0") -> ClaimSighting:
    """Return a write of a claim in partition p."""
    return ClaimSighting(3.0, "p", consumer, attempt, state, node, allocations={node: SIZE})
