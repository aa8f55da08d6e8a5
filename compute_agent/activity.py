# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a service host are busy with, and how their last builds went."""

from collections import Counter
from collections.abc import Iterable

from compute_agent.attempt import Attempt, Outcome, Ref


class Activity:
    """One thread at a time writes, the host's lane; reading beside it is fine. It begins anew with the agent."""

    def __init__(self) -> None:
        self._building: dict[Ref, str] = {}
        self._busy: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def begin(self, attempts: Iterable[Attempt]) -> None:
        """Count builds that are under way; once each."""
        for attempt in attempts:
            if attempt.ref not in self._building:
                self._building[attempt.ref] = attempt.name
                self._busy[attempt.name] += 1

    def end(self, attempts: Iterable[Attempt]) -> None:
        """Count builds no more that came to an outcome, those that failed as such; one without an outcome runs."""
        for attempt in attempts:
            node = self._building.pop(attempt.ref, None)
            if node is not None:
                self._busy[node] -= 1
            if attempt.outcome is Outcome.FAILED:
                self._failed[attempt.name] += 1
            elif node is not None and attempt.outcome is None:
                self._failed[node] = 0

    def io_ops(self, node: str) -> int:
        """Return how many builds are under way on a node."""
        return self._busy[node]

    def failed_builds(self, node: str) -> int:
        """Return how many builds have failed on a node since the last that did not."""
        return self._failed[node]
