# SPDX-License-Identifier: Apache-2.0
"""The protocol between the daemon framework and a service."""

from typing import Protocol


class Service(Protocol):
    """One worker's service; the package's docstring specifies each method."""

    def start(self) -> None:
        """Begin to serve; return when requests are processed."""

    def stop(self) -> None:
        """Begin the drain: accept no new requests, finish those in flight."""

    def wait(self) -> None:
        """Return when the drain is over."""

    def reset(self) -> None:
        """Apply the present values of the mutable options; raises a GanttError if it refuses them."""
