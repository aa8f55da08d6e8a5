# SPDX-License-Identifier: Apache-2.0
"""Builds that this worker placed and that their hosts have not reported yet."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.table.state_column import StateColumn

METRICS = ("instances", "io_ops")  # each build counts once in both until its host reports
# Seconds after which a host that reports nothing new is taken at its word: the build never began, or has ended.
PATIENCE_S = 60.0


class UnreportedBuilds:
    """Adds builds to the reported metrics of their rows, as Nova's ``HostState.consume_from_request`` does.

    Claims count in the resources at once, but these metrics only when the host reports them. Without this a burst would
    go past the limits of IoOpsFilter and NumInstancesFilter, and IoOpsWeigher would see idle hosts.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        # Row -> until when its builds count, their number, and the metrics without them; in the order of that time.
        self._rows: dict[int, tuple[float, int, Sequence[tuple[StateColumn, float]]]] = {}

    def add(self, row: int, columns: Sequence[StateColumn], now: float) -> None:
        """Count one build on ``row`` in these columns."""
        _, builds, reported = self._rows.pop(
            row, (now, 0, [(column, float(column.numbers[row])) for column in columns])
        )
        self._set(row, now + PATIENCE_S, builds + 1, reported)

    def subtract(self, row: int) -> None:
        """Take back one build on ``row``, if any of its builds still count."""
        if row in self._rows:
            until, builds, reported = self._rows[row]
            if builds > 1:
                self._set(row, until, builds - 1, reported)
            else:
                self._take_back(row)

    def forget(self, row: int) -> None:
        """Stop counting the builds of a row whose host reports anew."""
        self._rows.pop(row, None)

    def expire(self, now: float) -> None:
        """Take back the builds of rows whose hosts reported nothing new for PATIENCE_S."""
        while self._rows:
            row = next(iter(self._rows))
            if self._rows[row][0] > now:
                return
            self._take_back(row)

    def clear(self) -> None:
        """Take back all builds."""
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
