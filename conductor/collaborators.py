# SPDX-License-Identifier: Apache-2.0
"""Collaborators of the conductor's calls: store, clients of other services, and limits."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import oslo_messaging as messaging

from conductor.admission import AdmissionLimits
from conductor.store.interface import ConductorStore
from rpcapi import errors
from rpcapi.bounds import StoreBounds
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.context import RequestContext
from rpcapi.resources import names

# Errors of calls without a definite answer: the call may have been executed, so the conductor repeats it.
NO_ANSWER_ERRORS = (errors.Unavailable, errors.DeadlinePassed, messaging.MessagingException, OSError)
CALL_ERRORS = (errors.GanttError, *NO_ANSWER_ERRORS)  # Errors with or without an answer.

AGENT_SECONDS = 5.0  # time-out of a call to an agent


def summarize_error(error: Exception) -> str:
    """Return the first line of the error's message, without a peer's traceback."""
    text = str(error.args[0]) if error.args else ""
    return text.partition("\n")[0] or type(error).__name__


def answered(what: str, method: Callable[..., Any], ctxt: RequestContext, *args: object, **values: object) -> Any:
    """Call ``method`` of the service named ``what``; raises Unavailable without an answer in time."""
    try:
        return method(ctxt, *args, **values)
    except messaging.MessagingException as error:
        raise errors.Unavailable(what=what, why=summarize_error(error)) from error


@dataclass(frozen=True)
class ServiceClients:
    """RPC clients of the conductor.

    ``claims`` returns the claims client of a partition. ``partition`` is the default partition.
    """

    scheduler: SchedulerAPI
    compute: ComputeAPI
    claims: Callable[[str], ClaimsAPI]
    partition: str

    def call_agent(self, ctxt: RequestContext, host: str, method: Callable[..., Any], *args: Any) -> Any:
        """Call a method of ``compute`` on service host ``host``; raises InvalidName, Unavailable."""
        if names.SEPARATOR in names.canonical(host):
            raise errors.InvalidName(name=host, why="a service host is required, not one of its nodes")
        agent_ctxt = ctxt.with_timeout(min(AGENT_SECONDS, ctxt.remaining(AGENT_SECONDS)))
        try:
            return method(agent_ctxt, host, *args)
        except messaging.MessagingTimeout as error:
            raise errors.Unavailable(what=f"The agent of host {host!r}", why="no answer in time") from error

    def service_document(self, ctxt: RequestContext, host: str) -> Mapping[str, Any] | None:
        """Return the scheduler's document of a service host, None if the host was removed.

        Raises the errors of ``get_host_state``.
        """
        try:
            document: Mapping[str, Any] = self.scheduler.get_host_state(ctxt, "service", host).document
        except errors.UnknownHost:
            return None
        return document

    def other_partitions(self, ctxt: RequestContext, partition: str | None) -> list[str]:
        """Return all partitions except ``partition`` (None: the default partition)."""
        own = partition or self.partition
        return [name for name in self.scheduler.list_partitions(ctxt).names if name != own]

    def claims_of(self, partition: str | None) -> ClaimsAPI:
        return self.claims(partition or self.partition)


@dataclass
class Conductor:
    """Store, clients and limits that the calls and loops of a conductor share.

    Attributes:
        wake: Tells the pump that the saga has work.
        max_instances: Instances per call.
        limits: Replaced when the configuration is reloaded.
        clock: Returns Unix time in milliseconds.
    """

    store: ConductorStore
    clients: ServiceClients
    bounds: StoreBounds
    wake: Callable[[], None]
    max_instances: int
    limits: AdmissionLimits = field(default_factory=AdmissionLimits)
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
