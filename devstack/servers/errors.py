# SPDX-License-Identifier: Apache-2.0
"""Errors of private servers; their messages are shown to the user."""

from devstack.users.errors import DevstackError


class ServerError(DevstackError):
    """Raised when a private server cannot be installed, started, reached or stopped."""


class BinaryMissing(ServerError):
    """Raised when a server's program is not installed; the message says how to install it."""


class PortInUse(ServerError):
    """Raised when another process already listens on a port configured for the server."""


class AlreadyRunning(ServerError):
    """Raised by start() when the server of this run folder already runs; it is left running."""


class ServerNotReady(ServerError):
    """Raised when a server ended or did not answer in time; it has been stopped."""
