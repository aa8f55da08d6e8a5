# SPDX-License-Identifier: Apache-2.0
"""Notification sender that raises failures, which oslo.messaging only logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_messaging.transport import NotificationTransport

from rpcapi import errors
from rpcapi.messaging import bus

RETRIES = 2  # Retries of the transport per notification; then the publisher pauses.


class _RecordingTransport(NotificationTransport):
    """Transport that keeps the last error, because oslo.messaging's notifier only logs it."""

    fault: Exception | None = None

    def _send_notification(self, *args: Any, **values: Any) -> None:
        try:
            super()._send_notification(*args, **values)
        except Exception as error:
            self.fault = error  # any error means that the notification was not sent
            raise


class NotificationSender:
    """Wrapper of oslo.messaging's notifier that raises failures."""

    def __init__(self, conf: Any, url: str | None, driver: str, topics: Sequence[str], publisher: str) -> None:
        """Raises BadConfiguration for a URL without a driver, or an unknown notification driver."""
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
        """Send one notification. Raises Unavailable if that fails."""
        self._transport.fault = None
        self._notifier.info({}, event_type, dict(payload))
        if self._transport.fault is not None:
            raise errors.Unavailable(
                what="The bus for notifications", why=str(self._transport.fault) or "unknown error"
            ) from self._transport.fault

    def close(self) -> None:
        self._transport.cleanup()
