# SPDX-License-Identifier: Apache-2.0
"""What conductor and agents of a modelled cluster know."""

from dataclasses import dataclass, field

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.records import RunningClaim


@dataclass
class Truth:
    """The state known to conductor and agents: it survives data loss of the store."""

    attempts: dict[str, int] = field(default_factory=dict)  # the conductor's latest attempt of each consumer
    sent: set[tuple[str, ClaimRef]] = field(
        default_factory=set
    )  # builds that an agent received and has not decided on yet
    running: dict[ClaimRef, RunningClaim] = field(default_factory=dict)  # guests
    ends: dict[ClaimRef, Answer] = field(default_factory=dict)  # final answers received by anyone
