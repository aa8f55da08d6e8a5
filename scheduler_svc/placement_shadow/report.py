# SPDX-License-Identifier: Apache-2.0
"""What operators get to see of a shadow: metrics, warnings up to a number, and a summary at intervals."""

import collections
import threading

from oslo_log import log

from scheduler_svc.metrics import SHADOW_REFUSED_WRITES, SHADOWED_REQUESTS
from scheduler_svc.placement_shadow.refused_writes import RefusedWrite

LOG = log.getLogger(__name__)

MAX_WARNINGS = 100  # between two summaries; all are counted


class ShadowReport:
    """Counts requests, and writes a summary of the last ``interval_s`` to the log where there were any.

    For any number of threads.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._outcomes: collections.Counter[str] = collections.Counter()
        self._refused: collections.Counter[RefusedWrite] = collections.Counter()
        self._warnings = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="report", daemon=True)

    def start(self) -> None:
        """Begin to write summaries."""
        self._thread.start()

    def stop(self) -> None:
        """Write the last summary."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.summarize()

    def count(self, kind: str, outcome: str) -> None:
        """Count a request; ``kind`` is 'read' or 'write'."""
        SHADOWED_REQUESTS.labels(kind, outcome).inc()
        with self._lock:
            self._outcomes[f"{kind} {outcome}"] += 1

    def count_refused(self, write: RefusedWrite) -> None:
        """Count a write that gantt refused, by the reason."""
        SHADOW_REFUSED_WRITES.labels(write.method, write.route, str(write.status), write.code).inc()
        with self._lock:
            self._refused[write] += 1

    def warn(self, message: str, *values: object) -> None:
        """Log a warning, unless there were MAX_WARNINGS since the last summary."""
        with self._lock:
            self._warnings += 1
            is_logged = self._warnings <= MAX_WARNINGS
        if is_logged:
            LOG.warning(message, *values)

    def summarize(self) -> None:
        """Log what was counted since the last summary, if anything was."""
        with self._lock:
            outcomes, refused, warnings = self._outcomes, self._refused, self._warnings
            self._outcomes, self._refused, self._warnings = collections.Counter(), collections.Counter(), 0
        if outcomes or warnings:
            LOG.info("Since the last summary: %s", _text(outcomes, refused, warnings - MAX_WARNINGS))

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            self.summarize()


def _text(outcomes: collections.Counter[str], refused: collections.Counter[RefusedWrite], withheld: int) -> str:
    parts = [", ".join(f"{name}: {number}" for name, number in sorted(outcomes.items()))]
    if refused:
        parts.append("gantt refused " + ", ".join(f"{write}: {number}" for write, number in refused.most_common()))
    if withheld > 0:
        parts.append(f"{withheld} more warnings were not logged")
    return "; ".join(filter(None, parts))
