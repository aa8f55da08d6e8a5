# SPDX-License-Identifier: Apache-2.0
"""``gantt decision``: the recorded decisions, all of them, for programs."""

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rpcapi.shell.command import Command
from rpcapi.shell.faults import CommandFailed

PAGE = 100  # decisions of one question: one about many instances is large


class DecisionExport(Command):
    """Write the recorded decisions of a partition, oldest first, a JSON object a line.

    What is recorded while the command runs may be missing. docs/shadow.md tells the form; `gantt-lab shadow` compares
    two such files.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--output", type=Path, metavar="FILE", help="Write into this file; default: print.")
        parser.add_argument("--partition", metavar="NAME", help="Default: the partition of the scheduler that answers.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        count = 0
        with self._opened(parsed_args.output) as file:
            for decision in self._decisions(parsed_args.partition):
                line = {**decision.document, "request_id": decision.request_id, "partition": decision.partition}
                file.write(json.dumps(line) + "\n")
                count += 1
        self.tell(f"{count} decisions")

    def _decisions(self, partition: str | None) -> Iterator[Any]:
        marker = None
        while True:
            page = self.session.ask(self.session.scheduler.list_decisions, partition, marker=marker, limit=PAGE)
            yield from page.decisions
            marker = page.marker
            if marker is None:
                return

    @contextlib.contextmanager
    def _opened(self, path: Path | None) -> Iterator[IO[str]]:
        if path is None:
            yield self.app.stdout
            return
        try:
            with path.open("w", encoding="utf-8") as file:
                yield file
        except OSError as why:
            raise CommandFailed(f"The decisions cannot be written to {path}: {why}") from why
