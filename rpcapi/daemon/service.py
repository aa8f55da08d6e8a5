# SPDX-License-Identifier: Apache-2.0
"""Protocol between daemon framework and service."""

from typing import Protocol


class Service(Protocol):
    """One worker's service, called in the worker process."""

    def start(self) -> None:
        """Connect and return when the worker serves; systemd gets READY when every worker does.

        Waits for unreachable dependencies with ``rpcapi.daemon.waiting.wait_for``. Raises BadConfiguration if the
        configuration cannot work: the daemon exits with that line.
        """

    def stop(self) -> None:
        """Begin the drain: accept no new requests, finish those in flight.

        Called once, possibly from another thread during start(), which must then return soon.
        """

    def wait(self) -> None:
        """Return when the drain is over; stop() and wait() together may take ``graceful_shutdown_timeout`` seconds."""

    def reset(self) -> None:
        """Apply the reloaded mutable options, or raise a GanttError and keep the previous ones."""
