# SPDX-License-Identifier: Apache-2.0
"""``gantt decision``: export and comparison of recorded decisions."""

import argparse
import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rpcapi.admin.argument import Argument
from rpcapi.cli.command import Command, CommandFailed, CommandOutput, Lister, counts_cell, lines_cell

COLUMNS = ("outcome", "instances", "share", "reasons", "examples")
MAX_EXAMPLES = 3  # newest request ids per outcome


class ExportDecisions(Command):
    """Write the recorded decisions of a partition, oldest first, one JSON object per line.

    docs/shadow.md specifies the format; `./devstack/lab.sh shadow` compares two files. New decisions may be missing.
    """

    ARGUMENTS = (
        Argument("--output", type=Path, metavar="FILE", help="Write to this file. Default: standard output."),
        Argument("--partition", metavar="NAME", help="Default: the partition of the answering scheduler."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        path, count = parsed_args.output, 0
        try:
            with contextlib.nullcontext(self.app.stdout) if path is None else path.open("w", encoding="utf-8") as file:
                for decision in self.session.list_decisions(parsed_args.partition):
                    line = {**decision.document, "request_id": decision.request_id, "partition": decision.partition}
                    file.write(json.dumps(line) + "\n")
                    count += 1
        except OSError as why:
            if path is None:
                raise
            raise CommandFailed(f"Cannot write the decisions to {path}: {why}") from why
        self.show_message(f"{count} decisions")


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
