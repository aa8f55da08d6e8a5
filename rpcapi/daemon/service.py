# SPDX-License-Identifier: Apache-2.0
"""Interface of a worker's service to the daemon framework."""

from typing import Protocol


class Service(Protocol):
    """Service of one worker, called in the worker process."""

    def start(self) -> None:
        """Return when the worker serves; wait for dependencies with ``rpcapi.daemon.waiting.wait_for``.

        Raises BadConfiguration if the configuration cannot work: the daemon exits with its line.
        """

    def stop(self) -> None:
        """Accept no more requests. Called once, possibly during start(), which must then return soon."""

    def wait(self) -> None:
        """Return after the drain; stop() and wait() together may take ``graceful_shutdown_timeout`` seconds."""

    def reset(self) -> None:
        """Apply the reloaded mutable options, or raise a GanttError and keep the previous ones."""
