# SPDX-License-Identifier: Apache-2.0
"""Errors that Nova's services receive as exceptions of their own.

oslo.messaging sends the class name, the module name and the ``kwargs`` of an error. Nova's services raise the class of
this name if they allow its module. Tenants see the message.
"""

from collections.abc import Mapping
from typing import ClassVar

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc.core.prefilters import by_aggregate
from scheduler_svc.scheduling.refusals import NO_HOSTS

MODULE = "nova.exception"
INTERNAL_ERROR = 500

NO_CANDIDATES = ""  # reason of NoValidHost if Placement would return no candidates
NOT_ENOUGH_HOSTS = "There are not enough hosts available."


class NovaError(Exception):
    """Base class of the errors; ``template`` is the message of Nova's class."""

    template: ClassVar[str]

    def __init__(self, **kwargs: str) -> None:
        self.kwargs = {**kwargs, "code": INTERNAL_ERROR}
        super().__init__(self.template.format_map(kwargs))


class NoValidHost(NovaError):
    """Raised when no host can take an instance."""

    template = "No valid host was found. {reason}"


class AllocationUpdateFailed(NovaError):
    """Raised when an instance's allocations have changed, so that the operation must stop."""

    template = "Failed to update allocations for consumer {consumer_uuid}. Error: {error}"


for _error in (NoValidHost, AllocationUpdateFailed):
    _error.__module__ = MODULE


def no_such_host(host: str, node: str) -> NoValidHost:
    return NoValidHost(reason=f"No such host - host: {host or None} node: {node or None} ")


# Do not leak store details to tenants; they are logged.
STORE_AWAY = "The placement of servers is not available at the moment."
NO_AGGREGATE = "Scheduling failed: No hosts available for tenant"


def nova_error(error: errors.GanttError) -> NovaError:
    if isinstance(error, errors.ClaimError):
        consumer = str(error.kwargs.get("consumer", ""))
        return AllocationUpdateFailed(consumer_uuid=consumer, error=error.sentence)
    if isinstance(error, errors.NoValidHost):
        return NoValidHost(reason=_no_valid_host(error.reason, error.reasons))
    if isinstance(error, errors.StoreUnavailable):
        return NoValidHost(reason=STORE_AWAY)
    return NoValidHost(reason=error.sentence)


def _no_valid_host(reason: str, reasons: Mapping[str, int]) -> str:
    if reasons and transient.NOVA_JUST_OLD not in reasons:
        return NOT_ENOUGH_HOSTS
    if reason == NO_HOSTS:
        return NO_CANDIDATES
    return NO_AGGREGATE if reason.startswith(by_aggregate.REFUSAL) else reason
