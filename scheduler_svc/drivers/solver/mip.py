# SPDX-License-Identifier: Apache-2.0
"""A mixed integer program, put together piece by piece, and HiGHS, which solves it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scheduler_svc.table.columns import FloatColumn

INFINITY = float("inf")

Terms = Sequence[tuple[int, float]]  # columns by number, with their factors


class Outcome(NamedTuple):
    """What solving came to: a value a column (None where no solution is known), and whether none is better."""

    values: FloatColumn | None
    optimal: bool


class Program:
    """Columns from 0 up and rows over them; what is best is told when it is solved."""

    def __init__(self) -> None:
        self._most: list[float] = []
        self._whole: list[bool] = []
        self._least_of_row: list[float] = []
        self._most_of_row: list[float] = []
        self._starts = [0]
        self._indexes: list[int] = []
        self._factors: list[float] = []

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self._most)

    def whole(self, most: float) -> int:
        """Add a column of whole numbers up to ``most`` and return its number."""
        self._most.append(most)
        self._whole.append(True)
        return len(self._most) - 1

    def real(self) -> int:
        """Add a column of any numbers from 0 up and return its number."""
        self._most.append(INFINITY)
        self._whole.append(False)
        return len(self._most) - 1

    def row(self, terms: Terms, least: float = -INFINITY, most: float = INFINITY) -> None:
        """Keep a sum within bounds."""
        self._indexes.extend(index for index, _ in terms)
        self._factors.extend(factor for _, factor in terms)
        self._starts.append(len(self._indexes))
        self._least_of_row.append(least)
        self._most_of_row.append(most)

    def minimise(self, costs: FloatColumn, known: FloatColumn, *, limit_s: float, gap: float, seed: int) -> Outcome:
        """Look for values of least cost, beginning with ``known`` ones; ``gap`` is the share that may be missed.

        One thread, and a seed: whatever ends before the limit is the same again.
        """
        import highspy  # noqa: PLC0415 - an extra: only who configures the driver needs it

        solver: Any = highspy.Highs()
        solver.silent()
        for option, value in (
            ("threads", 1),
            ("random_seed", seed % 2**31),
            ("time_limit", max(0.001, limit_s)),
            ("mip_rel_gap", gap),
        ):
            solver.setOptionValue(option, value)
        solver.passModel(self._model(highspy, costs))
        start = highspy.HighsSolution()
        start.col_value = known.tolist()
        solver.setSolution(start)
        solver.run()
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return Outcome(None, False)
        return Outcome(np.asarray(solver.getSolution().col_value, np.float64), optimal)

    def _model(self, highspy: Any, costs: FloatColumn) -> Any:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, len(self._most_of_row)
        model.col_cost_ = costs
        model.col_lower_, model.col_upper_ = np.zeros(self.columns), np.asarray(self._most)
        model.row_lower_, model.row_upper_ = np.asarray(self._least_of_row), np.asarray(self._most_of_row)
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.asarray(self._starts, np.int32)
        matrix.index_ = np.asarray(self._indexes, np.int32)
        matrix.value_ = np.asarray(self._factors, np.float64)
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self._whole]
        return model
