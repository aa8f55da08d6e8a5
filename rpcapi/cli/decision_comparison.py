# SPDX-License-Identifier: Apache-2.0
"""``gantt decision compare``: what differs between nova-scheduler's decisions and those of a shadow beside it."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rpcapi.cli.argument import Argument
from rpcapi.cli.cells import counts_cell, lines_cell
from rpcapi.cli.command import Lister

COLUMNS = ("outcome", "instances", "share", "reasons", "examples")
MAX_EXAMPLES = 3  # request ids of each outcome, the newest


@dataclass(slots=True)
class _OutcomeRow:
    """The instances with one outcome."""

    instances: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    requests: list[str] = field(default_factory=list)

    def add(self, request_id: str, instance: Mapping[str, Any]) -> None:
        """Count an instance."""
        self.instances += 1
        # The rank is another one each time.
        if instance["why"] and not instance["rank"]:
            self.reasons[instance["why"]] += 1
        if request_id not in self.requests:
            self.requests = [request_id, *self.requests][:MAX_EXAMPLES]


class CompareDecisions(Lister):
    """Summarize how a scheduler in shadow mode would have decided beside nova-scheduler.

    It reads the recorded comparisons of a partition, the oldest of which are dropped in time. `gantt explain` shows an
    example.
    """

    ARGUMENTS = (Argument("--partition", metavar="NAME", help="Default: the partition of the scheduler that answers."),)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        rows: dict[str, _OutcomeRow] = {}
        for request_id, instance in self._instances(parsed_args.partition):
            rows.setdefault(instance["outcome"], _OutcomeRow()).add(request_id, instance)
        total = sum(row.instances for row in rows.values())
        return COLUMNS, [
            (
                outcome,
                row.instances,
                f"{row.instances / total:.1%}",
                counts_cell(dict(row.reasons)),
                lines_cell(row.requests),
            )
            for outcome, row in sorted(rows.items(), key=lambda item: -item[1].instances)
        ]

    def _instances(self, partition: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the compared instances with the ids of their requests, oldest first."""
        for decision in self.session.list_decisions(partition):
            for instance in (decision.document.get("nova") or {}).get("instances", ()):
                yield decision.request_id, instance
