# SPDX-License-Identifier: Apache-2.0
"""Counts of a scheduler's work, from the page that it serves to Prometheus."""

import urllib.request
from collections import defaultdict
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

PAGE_SECONDS = 10.0
DECISIONS = ("gantt_scheduler_decision_seconds_count", "gantt_scheduler_batched_requests_total")
PLACED = "gantt_scheduler_instances_placed_total"
VERBS = "gantt_scheduler_claims_total"  # confirm, release, begin_move and others, each for one claim


@dataclass(frozen=True, slots=True)
class SchedulerCounts:
    """Requests that hosts were ranked for, claims made, and claims that a verb was executed on."""

    decisions: float = 0
    claims: float = 0
    verbs: float = 0

    def since(self, before: "SchedulerCounts") -> "SchedulerCounts":
        """Return what was added to ``before``."""
        return SchedulerCounts(
            self.decisions - before.decisions, self.claims - before.claims, self.verbs - before.verbs
        )


def parse(page: str) -> SchedulerCounts:
    """Return the counts in a page of Prometheus's text format; a metric that is not there counts 0."""
    sums: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            sums[sample.name] += sample.value
    return SchedulerCounts(sum(sums[name] for name in DECISIONS), sums[PLACED], sums[VERBS])


def read(address: str) -> SchedulerCounts:
    """Return the counts that a scheduler serves at ``host:port``; raises OSError."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=PAGE_SECONDS) as answer:
        return parse(answer.read().decode())
