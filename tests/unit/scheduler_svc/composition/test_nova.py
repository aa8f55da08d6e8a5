# SPDX-License-Identifier: Apache-2.0
"""Metrics of Nova's bus."""

from prometheus_client import REGISTRY

from scheduler_svc.composition import nova


def test_dropped_calls_of_unknown_methods_share_a_label() -> None:
    def dropped(method: str) -> float:
        return REGISTRY.get_sample_value("gantt_scheduler_dropped_calls_total", {"method": method}) or 0

    before = dropped("select_destinations"), dropped(nova.OTHER_METHOD)

    for method in ("select_destinations", "unknown", ""):
        nova.count_dropped(method)

    assert (dropped("select_destinations"), dropped(nova.OTHER_METHOD)) == (before[0] + 1, before[1] + 2)
    assert dropped("unknown") == 0
