# SPDX-License-Identifier: Apache-2.0
"""Mixed integer programs with known solutions, and the limits of a search."""

import numpy as np
import pytest

from scheduler_svc.core.drivers.solver.mip import Budget, MipProgram, StopReason
from tests.support.scheduler.placements import ample_budget

ROW = np.zeros(2, np.int64)  # both entries are in the first row of the block


def minimise(program, costs):
    start = np.zeros(program.columns)
    return program.minimise(np.array(costs, float), start, budget=ample_budget(), gap=0.0, seed=1)


def test_integer_columns_have_integer_values():
    # 3x + 2y is largest under 2x + y <= 4, x and y <= 3 at x = 1, y = 2; without integrality at x = 0.5, y = 3.
    program = MipProgram()
    columns = program.add_integers([3, 3])
    program.add_rows([(ROW, columns, [2.0, 1.0])], upper=4.0)
    result = minimise(program, [-3, -2])
    assert result.optimal
    assert result.values == pytest.approx([1, 2])


def test_real_columns_have_no_upper_bound():
    program = MipProgram()
    (column,) = program.add_reals(1)
    program.add_rows([(np.array([0]), np.array([column]), 2.0)], lower=25.0)
    assert minimise(program, [1]).values == pytest.approx([12.5])


def test_upper_bounds_of_integer_columns_hold():
    program = MipProgram()
    columns = program.add_integers([2, 5])
    program.add_rows([(ROW, columns, 1.0)], upper=100.0)
    assert minimise(program, [-1, -1]).values == pytest.approx([2, 5])


def test_rows_of_later_blocks_are_separate():
    program = MipProgram()
    columns = program.add_integers([9, 9])
    program.add_rows([(np.array([0, 1]), columns, 1.0)], upper=[4.0, 7.0])
    program.add_rows([(ROW, columns, 1.0)], upper=6.0)
    # The second column is worth more: it takes all of the third row.
    assert minimise(program, [-1, -2]).values == pytest.approx([0, 6])


def test_several_terms_add_up_in_one_row():
    program = MipProgram()
    first, second = program.add_integers([9]), program.add_integers([9])
    row = np.array([0])
    program.add_rows([(row, first, 1.0), (row, second, 3.0)], lower=7.0, upper=7.0)
    # 1 + 3 * 2 = 7 costs 2.1; 7 + 0 costs 7, 4 + 3 * 1 costs 4.55
    assert minimise(program, [1, 0.55]).values == pytest.approx([1, 2])


def test_program_without_solution_has_no_values():
    program = MipProgram()
    columns = program.add_integers([1, 1])
    program.add_rows([(ROW, columns, 1.0)], lower=3.0)
    result = minimise(program, [1, 1])
    assert (result.values, result.optimal) == (None, False)


def test_columns_are_numbered_in_their_order():
    program = MipProgram()
    assert program.add_integers([1, 1]).tolist() == [0, 1]
    assert program.add_reals(3).tolist() == [2, 3, 4]
    assert program.columns == 5


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_work_is_steps_times_columns():
    budget = Budget(10, 60.0)
    assert budget.take_step(4)
    assert budget.take_step(5)
    assert budget.stop_reason is None
    assert not budget.take_step(1)
    assert budget.stop_reason is StopReason.WORK


def test_time_runs_from_the_beginning():
    clock = Clock()
    budget = Budget(10, 2.0, clock)
    clock.now += 1.5
    assert (budget.elapsed_s, budget.remaining_s, budget.stop_reason) == (1.5, 0.5, None)
    clock.now += 0.5
    assert budget.stop_reason is StopReason.TIME


def test_time_is_named_where_both_limits_are_reached():
    budget = Budget(1, 0.0)
    budget.take_step(1)
    assert budget.stop_reason is StopReason.TIME
