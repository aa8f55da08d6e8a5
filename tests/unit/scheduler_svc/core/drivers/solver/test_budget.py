# SPDX-License-Identifier: Apache-2.0
"""The limits of a search."""

from scheduler_svc.core.drivers.solver.mip import Budget, StopReason


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
