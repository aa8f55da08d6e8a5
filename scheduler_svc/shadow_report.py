# SPDX-License-Identifier: Apache-2.0
"""Report on a shadow for operators: metrics, a limited number of warnings, and summaries at intervals."""

import collections
import threading

from oslo_log import log
from prometheus_client import Counter

from rpcapi.background import BackgroundLoop

LOG = log.getLogger(__name__)

MAX_WARNINGS = 100  # logged between two summaries; the next summary counts the others


class ShadowReport(BackgroundLoop):
    """Reporter that counts comparisons and logs new counts every ``interval_s``. Thread-safe."""

    def __init__(self, interval_s: float) -> None:
        super().__init__("report")
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self._warnings = 0

    def count(self, metric: Counter, *labels: object, title: str = "") -> None:
        """Count in ``metric``, and below ``title`` in the next summary."""
        metric.labels(*labels).inc()
        with self._lock:
            self._counts[title, " ".join(map(str, labels))] += 1

    def warn(self, message: str, *values: object) -> None:
        """Log a warning, unless MAX_WARNINGS were logged since the last summary."""
        with self._lock:
            self._warnings += 1
            is_logged = self._warnings <= MAX_WARNINGS
        if is_logged:
            LOG.warning(message, *values)

    def summarize(self) -> None:
        """Log the counts since the last summary, unless all are zero."""
        with self._lock:
            counts, self._counts = self._counts, collections.Counter()
            withheld, self._warnings = self._warnings - MAX_WARNINGS, 0
        texts: dict[str, list[str]] = collections.defaultdict(list)
        for (title, name), number in sorted(counts.items()):
            texts[title].append(f"{name}: {number}")
        parts = [title + ", ".join(lines) for title, lines in texts.items()]
        parts += [f"{withheld} more warnings were not logged"] if withheld > 0 else []
        if parts:
            LOG.info("Since the last summary: %s", "; ".join(parts))

    def run_once(self) -> float:
        self.summarize()
        return self._interval_s

    def wait(self) -> None:
        """Wait until the thread has ended, then log the last summary."""
        super().wait()
        self.summarize()
