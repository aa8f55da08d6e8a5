# SPDX-License-Identifier: Apache-2.0
"""One call for hosts, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rpcapi import errors
from scheduler_svc.request import Request
from scheduler_svc.store.records import Prepared


@dataclass(frozen=True, slots=True)
class Asked:
    """One call for hosts: the same server for each of ``consumers``, under one attempt number."""

    request: Request
    consumers: Sequence[str]
    attempt: int = 1
    alternates: int = 2
    consumer_type: str = "INSTANCE"


@dataclass(frozen=True, slots=True)
class Decided:
    """What was claimed, in the consumers' order, and the state of the partition that it was decided on."""

    prepared: Sequence[Prepared]
    epoch: int
    position: int
    partition: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing was claimed: what to raise, how many hosts were looked at, and how many fell to each reason.

    ``held``: all the same the partition may hold something of the request, from an earlier call, or because it could
    not be given back.
    """

    error: errors.GanttError
    hosts: int
    reasons: Mapping[str, int]
    held: bool = False


Outcome = Decided | errors.GanttError  # what became of a call: given, or the error to raise
