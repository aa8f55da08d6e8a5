# SPDX-License-Identifier: Apache-2.0
"""The metrics of agents: names and labels that dashboards and alerts use."""

import pytest

from compute_agent import metrics


@pytest.mark.parametrize(
    ("metric", "name", "labels"),
    [
        (metrics.GUESTS, "gantt_compute_guests", ()),
        (metrics.DAMAGED_GUESTS, "gantt_compute_damaged_guests", ()),
        (metrics.EXCESS, "gantt_compute_nodes_over_capacity", ()),
        (metrics.BUILDS, "gantt_compute_builds", ("outcome",)),
        (metrics.CONFIRMS, "gantt_compute_confirms", ("answer",)),
        (metrics.AUDITS, "gantt_compute_audits", ("result",)),
        (metrics.REPORTS, "gantt_compute_stats_reports", ("kind", "result")),
        (metrics.INJECTED_FAULTS, "gantt_compute_injected_faults", ("kind",)),
        (metrics.KIND_FAULTS, "gantt_compute_resource_kind_faults", ("kind", "what")),
        (metrics.RETRIES, "gantt_compute_retries", ("call",)),
        (metrics.MESSAGES, "gantt_compute_messages", ("method", "code")),
    ],
)
def test_exported_name_and_labels(metric, name, labels):
    (family,) = metric.describe()
    assert (family.name, metric._labelnames) == (name, labels)
