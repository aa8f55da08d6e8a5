# SPDX-License-Identifier: Apache-2.0
"""Selection call and its outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import MoveEnd
from scheduler_svc.core.records import IntentResult
from scheduler_svc.core.request import SchedulingRequest


@dataclass(frozen=True, slots=True)
class SelectionCall:
    """Request for one host per consumer. The consumers are identical instances under one attempt number."""

    ctxt: RequestContext
    request: SchedulingRequest
    consumers: Sequence[str]
    attempt: int = 1
    alternates: int = 2
    consumer_type: str = "INSTANCE"
    explains: bool = False  # Collect samples of rejected hosts even if other hosts pass.
    fresh: bool = False  # see ClaimBatch
    final: bool = False  # see ClaimBatch; the claims belong to the request's project and user
    moves: Sequence[MoveEnd] = ()  # one per consumer; empty if no consumer moves


@dataclass(frozen=True, slots=True)
class ServedCall:
    """Claims of a served call, in order of its consumers. ``group_hosts`` had members of its affinity group before."""

    prepared: Sequence[IntentResult]
    epoch: int
    position: int
    partition: str
    group_hosts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """Error of a call without claims; counts of hosts by reason that its last try's ranking and the store rejected."""

    error: errors.NoValidHost
    rejected_counts: Mapping[str, int] = field(default_factory=dict)
    lost_counts: Mapping[str, int] = field(default_factory=dict)


CallOrError = SelectionCall | errors.GanttError
SelectionOutcome = ServedCall | errors.GanttError
