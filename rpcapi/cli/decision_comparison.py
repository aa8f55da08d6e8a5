# SPDX-License-Identifier: Apache-2.0
"""``gantt decision compare``: decisions of nova-scheduler and of a shadow scheduler."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandOutput, Lister, counts_cell, lines_cell

COLUMNS = ("outcome", "instances", "share", "reasons", "examples")
MAX_EXAMPLES = 3  # newest request ids per outcome


class CompareDecisions(Lister):
    """Summarize how a shadow scheduler's decisions differ from nova-scheduler's.

    Reads the comparisons that a partition still records. `gantt explain` shows a single one.
    """

    ARGUMENTS = (Argument("--partition", metavar="NAME", help="Default: the partition of the answering scheduler."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        instances: Counter[str] = Counter()
        reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
        requests: defaultdict[str, list[str]] = defaultdict(list)
        for request_id, instance in self._instances(parsed_args.partition):
            outcome = instance["outcome"]
            instances[outcome] += 1
            # Reasons with a rank are unique, so they are not counted.
            if instance["why"] and not instance["rank"]:
                reasons[outcome][instance["why"]] += 1
            if request_id not in requests[outcome]:
                requests[outcome] = [request_id, *requests[outcome]][:MAX_EXAMPLES]
        return COLUMNS, [
            (
                outcome,
                count,
                f"{count / instances.total():.1%}",
                counts_cell(reasons[outcome]),
                lines_cell(requests[outcome]),
            )
            for outcome, count in instances.most_common()
        ]

    def _instances(self, partition: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (request id, compared instance), oldest first."""
        for decision in self.session.list_decisions(partition):
            for instance in (decision.document.get("nova") or {}).get("instances", ()):
                yield decision.request_id, instance
