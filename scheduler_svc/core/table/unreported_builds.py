# SPDX-License-Identifier: Apache-2.0
"""Builds that this worker placed and that their hosts have not reported yet."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.table.state_column import StateColumn

INSTANCES = "instances"
METRICS = (INSTANCES, "io_ops")  # metrics that count a build until its host reports
# Seconds after which an unreported build no longer counts: it never began, or has ended.
PATIENCE_S = 60.0


class UnreportedBuilds:
    """Builds added to reported metrics until the host's next report, like Nova's ``HostState.consume_from_request``.

    Without them, a burst of one worker would exceed the limit of IoOpsFilter, and the claim script would refuse hosts
    at the limit of NumInstancesFilter again and again.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        # {row: (expiry of its builds, their number, metrics without them)}, ordered by expiry.
        self._rows: dict[int, tuple[float, int, Sequence[tuple[StateColumn, float]]]] = {}

    def add(self, row: int, columns: Sequence[StateColumn], now: float) -> None:
        _, builds, reported = self._rows.pop(
            row, (now, 0, [(column, float(column.numbers[row])) for column in columns])
        )
        self._set(row, now + PATIENCE_S, builds + 1, reported)

    def subtract(self, row: int) -> None:
        """Undo one build on ``row``, if any still counts."""
        if row in self._rows:
            until, builds, reported = self._rows[row]
            if builds > 1:
                self._set(row, until, builds - 1, reported)
            else:
                self._take_back(row)

    def forget(self, row: int) -> None:
        """Stop counting the builds of a row whose host has reported."""
        self._rows.pop(row, None)

    def expire(self, now: float) -> None:
        """Undo the builds of hosts that have not reported for PATIENCE_S."""
        while self._rows:
            row = next(iter(self._rows))
            if self._rows[row][0] > now:
                return
            self._take_back(row)

    def clear(self) -> None:
        for row in list(self._rows):
            self._take_back(row)

    def _set(self, row: int, until: float, builds: int, reported: Sequence[tuple[StateColumn, float]]) -> None:
        self._rows[row] = until, builds, reported
        for column, number in reported:
            column.numbers[row] = np.fmax(number, 0.0) + builds

    def _take_back(self, row: int) -> None:
        *_, reported = self._rows.pop(row)
        for column, number in reported:
            column.numbers[row] = number
