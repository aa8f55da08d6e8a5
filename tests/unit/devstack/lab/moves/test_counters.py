# SPDX-License-Identifier: Apache-2.0
"""Counts of a scheduler's work, from a page of its metrics."""

from devstack.lab.moves.counters import SchedulerCounts, parse

PAGE = """\
# HELP gantt_scheduler_claims_total Answers to claim verbs
# TYPE gantt_scheduler_claims_total counter
gantt_scheduler_claims_total{answer="confirmed",verb="confirm"} 50.0
gantt_scheduler_claims_total{answer="confirmed",verb="begin_move"} 4.0
gantt_scheduler_expired_claims_total 9.0
gantt_scheduler_instances_placed_total 54.0
gantt_scheduler_decision_seconds_bucket{le="0.1"} 3.0
gantt_scheduler_decision_seconds_count 3.0
gantt_scheduler_decision_seconds_sum 0.5
gantt_scheduler_batched_requests_total 2.0
gantt_position{partition="default"} NaN
"""


def test_counts_are_summed_over_labels_and_other_metrics_are_ignored():
    assert parse(PAGE) == SchedulerCounts(decisions=5, claims=54, verbs=54)


def test_scheduler_without_these_metrics_counts_nothing():
    assert parse("") == SchedulerCounts()


def test_work_since_an_earlier_reading_is_the_difference():
    assert SchedulerCounts(7, 5, 9).since(SchedulerCounts(3, 4, 9)) == SchedulerCounts(4, 1, 0)
