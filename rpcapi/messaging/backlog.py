# SPDX-License-Identifier: Apache-2.0
"""Counts the messages that a process has read from the bus and not begun yet."""

import threading
from collections import Counter


class Backlog:
    """How many messages of each topic wait for a thread; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, topic: str, messages: int) -> None:
        """Add messages, or remove them with a negative number."""
        with self._lock:
            self._counts[topic] += messages

    def counts(self) -> dict[str, int]:
        """Return the number of each topic that ever had some."""
        with self._lock:
            return dict(self._counts)


BACKLOG = Backlog()  # of this process
