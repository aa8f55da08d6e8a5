# SPDX-License-Identifier: Apache-2.0
"""Errors as one-line messages."""

import sys

from rpcapi import errors


def describe_error(error: Exception) -> str:
    """Describe an error in one line, without the server traceback that the bus adds."""
    if isinstance(error, errors.GanttError):
        return error.sentence
    messaging = sys.modules.get("oslo_messaging")
    if messaging is not None:
        if isinstance(error, messaging.MessagingTimeout):
            return f"No reply in time: is the cluster up, and is this its configuration? ({_first_line(error)})"
        if isinstance(error, messaging.RemoteError):
            return f"Internal error of the service: {error.exc_type}: {error.value}; see its log"
        if isinstance(error, messaging.MessagingException):
            return f"The message bus cannot be used: {_first_line(error)}"
    return f"{type(error).__name__}: {_first_line(error)} (use --debug for a traceback)"


def _first_line(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    return text.strip().partition("\n")[0] or type(error).__name__
