# SPDX-License-Identifier: Apache-2.0
"""A selection call and its outcome."""

from collections.abc import Sequence
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import MoveEnd
from scheduler_svc.core.records import IntentResult
from scheduler_svc.core.request import SchedulingRequest


@dataclass(frozen=True, slots=True)
class SelectionCall:
    """Request for one host per consumer: identical instances under one attempt number."""

    ctxt: RequestContext
    request: SchedulingRequest
    consumers: Sequence[str]
    attempt: int = 1
    alternates: int = 2
    consumer_type: str = "INSTANCE"
    explains: bool = False  # whether to collect samples of rejected hosts even if others pass
    fresh: bool = False  # as in ClaimBatch
    final: bool = False  # as in ClaimBatch; the claims belong to the request's project and user
    moves: Sequence[MoveEnd] = ()  # of each consumer; () if none moves


@dataclass(frozen=True, slots=True)
class ServedCall:
    """Claims in order of the consumers, state of the decision, and earlier hosts of the affinity group."""

    prepared: Sequence[IntentResult]
    epoch: int
    position: int
    partition: str
    group_hosts: Sequence[str] = ()


CallOrError = SelectionCall | errors.GanttError
SelectionOutcome = ServedCall | errors.GanttError
