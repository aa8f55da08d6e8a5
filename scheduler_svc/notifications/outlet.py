# SPDX-License-Identifier: Apache-2.0
"""Sending one notification, and knowing that it was sent."""

from collections.abc import Mapping, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_messaging.transport import NotificationTransport

from rpcapi import bus, errors

RETRIES = 2  # of the transport, for one notification; then the publisher waits and tries again


class _Heeded(NotificationTransport):
    """A transport that remembers what went wrong: oslo.messaging's notifier logs it, and goes on."""

    fault: Exception | None = None

    def _send_notification(self, *args: Any, **values: Any) -> None:
        try:
            super()._send_notification(*args, **values)
        except Exception as error:
            self.fault = error  # whatever it was, the notification is not sent
            raise


class Outlet:
    """oslo.messaging's notifier, with failures told."""

    def __init__(self, conf: Any, url: str | None, driver: str, topics: Sequence[str], publisher: str) -> None:
        """Raise BadConfiguration for a URL that no driver takes, or an unknown notification driver."""
        bus.set_defaults(conf)
        try:
            plain = messaging.get_notification_transport(conf, url=url or None)
        except (messaging.InvalidTransportURL, messaging.DriverLoadFailure, ValueError):
            # What the library says quotes the URL, or a password in it.
            raise errors.BadConfiguration(
                why="[host_state_notifications] transport_url: oslo.messaging has no driver for it"
            ) from None
        self._transport = _Heeded(plain._driver)
        self._notifier = messaging.Notifier(
            self._transport, publisher, driver=driver, topics=list(topics), retry=RETRIES
        )
        if not self._notifier._driver_mgr.extensions:
            raise errors.BadConfiguration(why=f"[host_state_notifications] driver: there is no {driver!r}")

    def send(self, event_type: str, payload: Mapping[str, Any]) -> None:
        """Send one notification; raises Unavailable where that failed."""
        self._transport.fault = None
        self._notifier.info({}, event_type, dict(payload))
        if self._transport.fault is not None:
            raise errors.Unavailable(
                what="The bus for notifications", why=str(self._transport.fault) or "no more is known"
            ) from self._transport.fault

    def close(self) -> None:
        """Let go of connections."""
        self._transport.cleanup()
