# SPDX-License-Identifier: Apache-2.0
"""Check of callers' history, agents' files and stored claims against the invariants, without gantt's own verify."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from devstack.lab.chaos.claim_model import check_claims
from devstack.lab.chaos.final_state import FinalState
from devstack.lab.chaos.history import CallHistory
from devstack.lab.chaos.promise_checks import check_leases, check_promises
from devstack.lab.chaos.state_checks import check_state
from devstack.lab.chaos.violations import Violation, ViolationKind


@dataclass(frozen=True, slots=True)
class CheckReport:
    violations: Sequence[Violation]

    @property
    def counts(self) -> dict[str, int]:
        counts = Counter(violation.kind for violation in self.violations)
        return {kind.value: counts[kind] for kind in ViolationKind}

    def text(self, most: int = 20) -> str:
        lines = [f"{item.kind}: {item.subject}: {item.evidence}" for item in self.violations[:most]]
        more = len(self.violations) - most
        return "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])])


def check(history: CallHistory, state: FinalState, lease_seconds: float = math.inf) -> CheckReport:
    """Return every violation. A claim may be prepared for at most ``lease_seconds``."""
    violations = {
        *check_state(state),
        *check_promises(history, state),
        *check_leases(history, state, lease_seconds),
        *check_claims(history.claims),
    }
    return CheckReport(sorted(violations))
