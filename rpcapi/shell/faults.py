# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as one line for a person."""

import sys

from rpcapi import errors


class CommandFailed(Exception):
    """Raised when a command ends with one line for its user and exit code 1."""


def sentence(error: Exception) -> str:
    """Return what to tell the user of ``error``; a traceback of the peer, which the bus adds, is left out."""
    if isinstance(error, errors.GanttError):
        return error.sentence
    messaging = sys.modules.get("oslo_messaging")
    if messaging is not None:
        if isinstance(error, messaging.MessagingTimeout):
            return f"No answer came in time: is the cluster up, and is this its configuration? ({_first(error)})"
        if isinstance(error, messaging.RemoteError):
            return f"The service failed on this request: {error.exc_type}: {error.value}; its log says more"
        if isinstance(error, messaging.MessagingException):
            return f"The message bus cannot be used: {_first(error)}"
    return f"{type(error).__name__}: {_first(error)} (run with --debug for more)"


def _first(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    return text.strip().partition("\n")[0] or type(error).__name__
