# SPDX-License-Identifier: Apache-2.0
"""A mixed integer program, put together block by block, and HiGHS, which solves it."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.table.columns import FloatColumn, IntColumn

INFINITY = float("inf")

Part = tuple[IntColumn, IntColumn, npt.ArrayLike]  # rows of a block, from 0 up, columns, and factors


class Outcome(NamedTuple):
    """What solving came to: a value a column (None where no solution is known), and whether none is better."""

    values: FloatColumn | None
    optimal: bool


class Program:
    """Columns from 0 up and rows over them; what is best is told when it is solved."""

    def __init__(self) -> None:
        self.columns = 0
        self._rows = 0
        self._most: list[FloatColumn] = []
        self._whole: list[npt.NDArray[np.bool_]] = []
        self._least_of_row: list[FloatColumn] = []
        self._most_of_row: list[FloatColumn] = []
        self._entries: list[tuple[IntColumn, IntColumn, FloatColumn]] = []

    def whole(self, most: npt.ArrayLike) -> IntColumn:
        """Add a column of whole numbers for each of ``most``, and return the columns' numbers."""
        return self._add(np.asarray(most, np.float64), True)

    def real(self, count: int) -> IntColumn:
        """Add so many columns of any numbers from 0 up, and return the columns' numbers."""
        return self._add(np.full(count, INFINITY), False)

    def rows(self, parts: Iterable[Part], *, least: npt.ArrayLike = -INFINITY, most: npt.ArrayLike = INFINITY) -> None:
        """Keep sums within bounds: a block with a row for each bound that is given."""
        lower, upper = np.broadcast_arrays(np.atleast_1d(np.asarray(least, float)), np.asarray(most, float))
        for rows, columns, factors in parts:
            told = np.broadcast_to(np.asarray(factors, np.float64), len(columns))
            self._entries.append((rows + self._rows, columns, told))
        self._rows += len(lower)
        self._least_of_row.append(lower)
        self._most_of_row.append(upper)

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

    def _add(self, most: FloatColumn, whole: bool) -> IntColumn:
        self._most.append(most)
        self._whole.append(np.full(len(most), whole))
        self.columns += len(most)
        return np.arange(self.columns - len(most), self.columns)

    def _model(self, highspy: Any, costs: FloatColumn) -> Any:
        rows, columns, factors = (np.concatenate(each) for each in zip(*self._entries, strict=True))
        order = np.argsort(rows, kind="stable")
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self._rows
        model.col_cost_ = costs
        model.col_lower_, model.col_upper_ = np.zeros(self.columns), np.concatenate(self._most)
        model.row_lower_, model.row_upper_ = np.concatenate(self._least_of_row), np.concatenate(self._most_of_row)
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.searchsorted(rows[order], np.arange(self._rows + 1)).astype(np.int32)
        matrix.index_ = columns[order].astype(np.int32)
        matrix.value_ = factors[order]
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if each else kinds.kContinuous for each in np.concatenate(self._whole)]
        return model
