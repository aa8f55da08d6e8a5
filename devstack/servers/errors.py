# SPDX-License-Identifier: Apache-2.0
"""Errors of private servers. Users see their messages."""

from devstack.deploy.users.errors import DevstackError


class ServerError(DevstackError):
    """Raised when a private server cannot be installed, started, reached or stopped."""


class BinaryMissing(ServerError):
    """Raised when a server's program is not installed; the message says how to install it."""


class PortInUse(ServerError):
    """Raised when another process listens on the server's configured port."""


class AlreadyRunning(ServerError):
    """Raised by start() when the run folder's server already runs; it keeps running."""


class ServerNotReady(ServerError):
    """Raised when a server ended or did not answer in time. It has been stopped."""
