# SPDX-License-Identifier: Apache-2.0
"""Sends notifications and reports failures, which oslo.messaging only logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_messaging.transport import NotificationTransport

from rpcapi import errors
from rpcapi.messaging import bus

RETRIES = 2  # of the transport, for one notification; then the publisher waits and retries


class _RecordingTransport(NotificationTransport):
    """A transport that stores the last error: oslo.messaging's notifier only logs it."""

    fault: Exception | None = None

    def _send_notification(self, *args: Any, **values: Any) -> None:
        try:
            super()._send_notification(*args, **values)
        except Exception as error:
            self.fault = error  # on any error the notification was not sent
            raise


class NotificationSender:
    """A wrapper of oslo.messaging's notifier that raises failures."""

    def __init__(self, conf: Any, url: str | None, driver: str, topics: Sequence[str], publisher: str) -> None:
        """Raise BadConfiguration for a URL without a driver, or an unknown notification driver."""
        bus.set_defaults(conf)
        bus.set_rabbit_defaults(conf)
        try:
            transport = messaging.get_notification_transport(conf, url=url or None)
        except (messaging.InvalidTransportURL, messaging.DriverLoadFailure, ValueError):
            # The library's message may quote the URL with its password.
            raise errors.BadConfiguration(
                why="[host_state_notifications] transport_url: oslo.messaging has no driver for it"
            ) from None
        self._transport = _RecordingTransport(transport._driver)
        self._notifier = messaging.Notifier(
            self._transport, publisher, driver=driver, topics=list(topics), retry=RETRIES
        )
        if not self._notifier._driver_mgr.extensions:
            raise errors.BadConfiguration(why=f"[host_state_notifications] driver: {driver!r} is not installed")

    def send(self, event_type: str, payload: Mapping[str, Any]) -> None:
        """Send one notification; raises Unavailable if that fails."""
        self._transport.fault = None
        self._notifier.info({}, event_type, dict(payload))
        if self._transport.fault is not None:
            raise errors.Unavailable(
                what="The bus for notifications", why=str(self._transport.fault) or "unknown error"
            ) from self._transport.fault

    def close(self) -> None:
        """Close the connections."""
        self._transport.cleanup()
