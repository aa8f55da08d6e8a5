# SPDX-License-Identifier: Apache-2.0
"""Mixed integer program, built block by block and solved by HiGHS within a budget."""

import time
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import FloatColumn, IntColumn


class StopReason(StrEnum):
    """Limit that ended a search before its result was proven optimal."""

    WORK = "work"
    TIME = "time"


class Budget:
    """Remaining budget of one batch. A search step costs the program's number of columns."""

    def __init__(self, work: int, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._work = work
        self._clock = clock
        self._began = clock()
        self._limit_s = limit_s

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._began

    @property
    def remaining_s(self) -> float:
        return self._limit_s - self.elapsed_s

    @property
    def stop_reason(self) -> StopReason | None:
        """Exhausted limit, or None. TIME if both limits are exhausted."""
        if self.remaining_s <= 0:
            return StopReason.TIME
        return StopReason.WORK if self._work <= 0 else None

    def take_step(self, columns: int) -> bool:
        self._work -= columns
        return self._work > 0


INFINITY = float("inf")
SHORTEST_S = 0.001  # minimum time limit of HiGHS
TOLERANCE = 1e-6  # relative tolerance of an objective

MipTerm = tuple[IntColumn, IntColumn, npt.ArrayLike]  # (rows of the block, columns, factors)


class MipResult(NamedTuple):
    """Value of each column, None without a solution; and whether the values are optimal."""

    values: FloatColumn | None
    optimal: bool


class MipProgram:
    """Program of nonnegative columns, and of rows that bound weighted sums of columns. ``minimise`` takes the costs."""

    def __init__(self) -> None:
        self.columns = 0
        self._rows = 0
        self._upper: list[FloatColumn] = []
        self._is_integer: list[npt.NDArray[np.bool_]] = []
        self._row_lower: list[FloatColumn] = []
        self._row_upper: list[FloatColumn] = []
        self._entries: list[tuple[IntColumn, IntColumn, FloatColumn]] = []

    def add_integers(self, upper: npt.ArrayLike) -> IntColumn:
        return self._add(np.asarray(upper, np.float64), True)

    def add_reals(self, count: int) -> IntColumn:
        return self._add(np.full(count, INFINITY), False)

    def add_rows(
        self, terms: Iterable[MipTerm], *, lower: npt.ArrayLike = -INFINITY, upper: npt.ArrayLike = INFINITY
    ) -> None:
        """Add a block of rows. Each row bounds a weighted sum of columns."""
        lower_bounds, upper_bounds = np.broadcast_arrays(
            np.atleast_1d(np.asarray(lower, float)), np.asarray(upper, float)
        )
        for rows, columns, factors in terms:
            row_factors = np.broadcast_to(np.asarray(factors, np.float64), len(columns))
            self._entries.append((rows + self._rows, columns, row_factors))
        self._rows += len(lower_bounds)
        self._row_lower.append(lower_bounds)
        self._row_upper.append(upper_bounds)

    def minimise(
        self, costs: FloatColumn, start_values: FloatColumn, *, budget: Budget, gap: float, seed: int
    ) -> MipResult:
        """Minimize the costs from ``start_values`` to the relative ``gap``. Reproducible unless time runs out."""
        options = {"threads": 1, "random_seed": seed % 2**31, "mip_rel_gap": gap}
        result, objective = self._run(costs, start_values, options, budget)
        if result.values is None or abs(costs @ result.values - objective) <= TOLERANCE * max(1.0, abs(objective)):
            return result
        # With presolve, HiGHS 1.16 may return values whose objective differs from the reported objective.
        return self._run(costs, start_values, {**options, "presolve": "off"}, budget)[0]

    def _run(
        self, costs: FloatColumn, start_values: FloatColumn, options: Mapping[str, Any], budget: Budget
    ) -> tuple[MipResult, float]:
        import highspy  # noqa: PLC0415 - other drivers need not load it

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # not annotated
        solver.silent()
        for option, value in {**options, "time_limit": max(SHORTEST_S, budget.remaining_s)}.items():
            solver.setOptionValue(option, value)
        solver.cbMipInterrupt += lambda event: budget.take_step(self.columns) or event.interrupt()
        solver.passModel(self._model(highspy, costs))
        start = highspy.HighsSolution()
        start.col_value = start_values.tolist()
        solver.setSolution(start)
        solver.run()
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        info = solver.getInfo()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return MipResult(None, False), 0.0
        values = np.asarray(solver.getSolution().col_value, np.float64)
        return MipResult(values, optimal), float(info.objective_function_value)

    def _add(self, upper: FloatColumn, is_integer: bool) -> IntColumn:
        self._upper.append(upper)
        self._is_integer.append(np.full(len(upper), is_integer))
        self.columns += len(upper)
        return np.arange(self.columns - len(upper), self.columns)

    def _model(self, highspy: Any, costs: FloatColumn) -> Any:
        rows, columns, factors = (np.concatenate(arrays) for arrays in zip(*self._entries, strict=True))
        order = np.argsort(rows, kind="stable")
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self._rows
        model.col_cost_ = costs
        model.col_lower_, model.col_upper_ = np.zeros(self.columns), np.concatenate(self._upper)
        model.row_lower_, model.row_upper_ = np.concatenate(self._row_lower), np.concatenate(self._row_upper)
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.searchsorted(rows[order], np.arange(self._rows + 1)).astype(np.int32)
        matrix.index_ = columns[order].astype(np.int32)
        matrix.value_ = factors[order]
        kinds = highspy.HighsVarType
        model.integrality_ = [
            kinds.kInteger if is_integer else kinds.kContinuous for is_integer in np.concatenate(self._is_integer)
        ]
        return model
