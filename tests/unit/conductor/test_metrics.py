# SPDX-License-Identifier: Apache-2.0
"""The metrics of conductors."""

import pytest

from conductor import metrics


def test_instances_are_not_summed_over_the_workers_that_read_one_store() -> None:
    assert metrics.INSTANCES._multiprocess_mode == "livemax"


@pytest.mark.parametrize(
    ("metric", "name", "labels"),
    [
        (metrics.INSTANCES, "gantt_conductor_instances", ("status",)),
        (metrics.STEPS, "gantt_conductor_saga_steps", ("step",)),
        (metrics.RETRIES, "gantt_conductor_saga_retries", ("step",)),
        (metrics.RECASTS, "gantt_conductor_build_recasts", ()),
        (metrics.TAKEOVERS, "gantt_conductor_saga_takeovers", ()),
        (metrics.LOST_LEASES, "gantt_conductor_saga_leases_lost", ()),
        (metrics.CALLS, "gantt_conductor_calls", ("method", "code")),
        (metrics.CALL_SECONDS, "gantt_conductor_call_seconds", ("method",)),
        (metrics.MIGRATIONS, "gantt_conductor_migrations", ("kind", "status")),
        (metrics.REPORTS, "gantt_conductor_build_reports", ("outcome",)),
    ],
)
def test_exported_name_and_labels(metric, name, labels):
    (family,) = metric.describe()
    assert (family.name, metric._labelnames) == (name, labels)
