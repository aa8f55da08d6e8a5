# SPDX-License-Identifier: Apache-2.0
"""What the master tells the service manager, in the protocol of sd_notify(3)."""

import os
import socket
import time


class Notifier:
    """Tells systemd how the daemon is; silent where none listens.

    oslo.service tells READY before a worker serves and knows no watchdog, hence our own.
    """

    def __init__(self, address: str = "", watchdog: float = 0.0) -> None:
        """``address`` is a datagram socket ('@' begins an abstract one), ``watchdog`` is in seconds."""
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._pat_every = watchdog / 3
        self._patted = 0.0

    @classmethod
    def from_environment(cls) -> "Notifier":
        """Take the manager's variables out of the environment, so that no worker speaks for the master."""
        address = os.environ.pop("NOTIFY_SOCKET", "")
        watchdog = float(os.environ.pop("WATCHDOG_USEC", "0")) / 1e6
        for_pid = os.environ.pop("WATCHDOG_PID", "")
        if for_pid and int(for_pid) != os.getpid():
            watchdog = 0.0
        return cls(address, watchdog)

    def starting(self, status: str, extend: float) -> None:
        """Say that the start goes on and may take another ``extend`` seconds."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(extend * 1e6)}", f"STATUS={status}")

    def ready(self, status: str) -> None:
        """Say that every worker serves, at first or again after a reload."""
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """Say one line for ``systemctl status``."""
        self._send(f"STATUS={status}")

    def reloading(self) -> None:
        """Say that the configuration is being read anew."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={now}", "STATUS=reloading the configuration")

    def stopping(self) -> None:
        """Say that the daemon drains."""
        self._send("STOPPING=1", "STATUS=draining")

    def alive(self, now: float) -> None:
        """Pat the watchdog when it is due; ``now`` is monotonic seconds."""
        if self._pat_every and now - self._patted >= self._pat_every:
            self._patted = now
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            sock.setblocking(False)
            try:
                sock.sendto("\n".join(lines).encode(), self._address)
            except OSError:
                # A manager that is away or swamped must not take the daemon down: its watchdog decides.
                return
