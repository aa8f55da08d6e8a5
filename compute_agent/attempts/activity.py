# SPDX-License-Identifier: Apache-2.0
"""Builds in progress and consecutive build failures per node."""

import threading
from collections import Counter
from collections.abc import Iterable

from compute_agent.attempt import Attempt, AttemptRef
from rpcapi.resources.statuses import AttemptResult


class NodeActivity:
    """Build counters per node since the agent's start.

    Only the host's serial queue writes; any thread may read. ``lock`` guards changes of an attempt's amounts and build
    that a report must not see separately.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._building: dict[AttemptRef, str] = {}
        self._build_counts: Counter[str] = Counter()
        self._failure_counts: Counter[str] = Counter()

    def begin(self, attempts: Iterable[Attempt]) -> None:
        """Count builds in progress, each attempt once."""
        for attempt in attempts:
            if attempt.ref not in self._building:
                self._building[attempt.ref] = attempt.name
                self._build_counts[attempt.name] += 1

    def end(self, attempts: Iterable[Attempt]) -> None:
        """Count these builds as finished, and update the failure counts.

        An attempt without an outcome succeeded, which resets its node's failures.
        """
        for attempt in attempts:
            node = self._building.pop(attempt.ref, None)
            if node is not None:
                self._build_counts[node] -= 1
            if attempt.outcome is AttemptResult.FAILED:
                self._failure_counts[attempt.name] += 1
            elif node is not None and attempt.outcome is None:
                self._failure_counts[node] = 0

    def io_ops(self, node: str) -> int:
        return self._build_counts[node]

    def failed_builds(self, node: str) -> int:
        return self._failure_counts[node]
