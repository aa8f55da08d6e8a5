# SPDX-License-Identifier: Apache-2.0
"""Errors that Nova's services receive as exceptions of their own.

oslo.messaging sends the names of an error's class and module, and its ``kwargs``. Nova's services raise the class of
that name if its module is allowed there. Tenants see the message.
"""

from typing import ClassVar

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
