# SPDX-License-Identifier: Apache-2.0
"""Protocol between daemon framework and service."""

from typing import Protocol


class Service(Protocol):
    """One worker's service; the package's docstring specifies each method."""

    def start(self) -> None:
        """Start serving; return when requests are processed."""

    def stop(self) -> None:
        """Begin the drain: accept no new requests, finish those in flight."""

    def wait(self) -> None:
        """Return when the drain is over."""

    def reset(self) -> None:
        """Apply the mutable options; raises a GanttError if it refuses them."""
