# SPDX-License-Identifier: Apache-2.0
"""Notification of the service manager by the protocol of sd_notify(3)."""

import os
import socket
import time


class Notifier:
    """Sender of the daemon's state to systemd; oslo.service's sends READY too early and has no watchdog."""

    def __init__(self, address: str = "", watchdog: float = 0.0) -> None:
        """``address``: Datagram socket, '@' for an abstract one, or empty. ``watchdog``: Seconds, 0 for none."""
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_interval = watchdog / 3
        self._watchdog_sent_at = 0.0

    @classmethod
    def from_environment(cls) -> "Notifier":
        """Take systemd's variables out of the environment, so that no worker notifies for the master."""
        address = os.environ.pop("NOTIFY_SOCKET", "")
        watchdog = float(os.environ.pop("WATCHDOG_USEC", "0")) / 1e6
        for_pid = os.environ.pop("WATCHDOG_PID", "")
        if for_pid and int(for_pid) != os.getpid():
            watchdog = 0.0
        return cls(address, watchdog)

    def starting(self, status: str, extend: float) -> None:
        """Extend the start timeout by ``extend`` seconds."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(extend * 1e6)}", f"STATUS={status}")

    def ready(self, status: str) -> None:
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        self._send(f"STATUS={status}")

    def reloading(self) -> None:
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={now}", "STATUS=reloading the configuration")

    def stopping(self) -> None:
        self._send("STOPPING=1", "STATUS=draining")

    def alive(self, now: float) -> None:
        """Ping the watchdog if due; ``now`` is in monotonic seconds."""
        if self._watchdog_interval and now - self._watchdog_sent_at >= self._watchdog_interval:
            self._watchdog_sent_at = now
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            sock.setblocking(False)
            try:
                sock.sendto("\n".join(lines).encode(), self._address)
            except OSError:
                # An unreachable manager must not stop the daemon; its watchdog decides.
                return
