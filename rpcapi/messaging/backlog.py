# SPDX-License-Identifier: Apache-2.0
"""Counter of received messages that have not started."""

import threading
from collections import Counter


class Backlog:
    """Received messages per topic that wait for a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, topic: str, messages: int) -> None:
        with self._lock:
            self._counts[topic] += messages

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


BACKLOG = Backlog()
