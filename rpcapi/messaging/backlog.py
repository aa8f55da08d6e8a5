# SPDX-License-Identifier: Apache-2.0
"""Count of messages that this process has received but not started."""

import threading
from collections import Counter


class Backlog:
    """Number of messages per topic that wait for a thread. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, topic: str, messages: int) -> None:
        """Add a number of messages; a negative number removes them."""
        with self._lock:
            self._counts[topic] += messages

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


BACKLOG = Backlog()
