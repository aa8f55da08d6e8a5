# SPDX-License-Identifier: Apache-2.0
"""A selection call and its outcome."""

from collections.abc import Sequence
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.core.records import IntentResult
from scheduler_svc.core.request import SchedulingRequest


@dataclass(frozen=True, slots=True)
class SelectionCall:
    """A call for hosts: one identical instance for each of ``consumers``, under one attempt number.

    ``explains``: samples of rejected hosts are collected even if others pass. ``fresh`` and ``final`` are as in
    ClaimBatch; final claims are those of the request's project and user.
    """

    request: SchedulingRequest
    consumers: Sequence[str]
    attempt: int = 1
    alternates: int = 2
    consumer_type: str = "INSTANCE"
    explains: bool = False
    fresh: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class ServedCall:
    """The claims, in the consumers' order, and the partition state that they were decided on.

    ``group_hosts`` are those that an affinity group was on before the call.
    """

    prepared: Sequence[IntentResult]
    epoch: int
    position: int
    partition: str
    group_hosts: Sequence[str] = ()


CallOrError = tuple[RequestContext, SelectionCall] | errors.GanttError  # a call with its context, or why it is none
SelectionOutcome = ServedCall | errors.GanttError  # the claims, or the error to raise
