# SPDX-License-Identifier: Apache-2.0
"""What the bus refuses or cannot do; each reaches a caller as oslo.messaging wraps driver errors."""

from oslo_messaging._drivers import base


class BusError(base.TransportDriverError):
    """Raised when the bus cannot do what it was asked for."""


class BusInstallationError(BusError):
    """Raised when a file that the bus needs is missing from the installation."""


class MessageTooLarge(BusError):
    """Raised when a message is larger than `[gantt_bus] max_message_bytes`; nothing was sent."""


class BusRefused(BusError):
    """Raised when Redis answers, but refuses: no permission, out of memory, or not a bus."""


class NotificationsUnsupported(BusError, NotImplementedError):
    """Raised when notifications are asked for: this bus carries RPC only."""


class MessageForeign(BusError):
    """Raised when a received message is not of this bus's wire format."""


class ClaimedElsewhere(BusError):
    """Raised when a message was handed to another server meanwhile, so that this one must not run it."""


class MessageExpired(BusError):
    """Raised when a message outlived its deadline before a server could run it."""


# What a server of this driver may send back by itself, next to what the transport was opened with.
REMOTE_EXMODS = [__name__]
