# SPDX-License-Identifier: Apache-2.0
"""Errors of the embedded bus; oslo.messaging wraps them as driver errors for callers."""

from oslo_messaging._drivers import base


class BusError(base.TransportDriverError):
    """Raised when the bus cannot do a requested operation."""


class BusInstallationError(BusError):
    """Raised when a file that the bus needs is missing from the installation."""


class MessageTooLarge(BusError):
    """Raised when a message is larger than `[gantt_bus] max_message_bytes`; nothing was sent."""


class BusRefused(BusError):
    """Raised when Redis answers with an error: no permission, out of memory, or wrong data type."""


class NotificationsUnsupported(BusError, NotImplementedError):
    """Raised when notifications are requested: this bus carries RPC only."""


class MessageForeign(BusError):
    """Raised when a received message is not of this bus's wire format."""


class ClaimedElsewhere(BusError):
    """Raised when another server received the message meanwhile, so that this one must not run it."""


class MessageExpired(BusError):
    """Raised when a message outlived its deadline before a server could run it."""


# Modules of the errors that a server of this driver sends itself, besides those the transport allows.
REMOTE_EXMODS = [__name__]
