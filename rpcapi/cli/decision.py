# SPDX-License-Identifier: Apache-2.0
"""``gantt decision``: exports the recorded decisions."""

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command
from rpcapi.cli.error_messages import CommandFailed


class ExportDecisions(Command):
    """Write the recorded decisions of a partition, oldest first, one JSON object per line.

    Decisions recorded while the command runs may be missing. docs/shadow.md specifies the format;
    `gantt-lab shadow` compares two such files.
    """

    ARGUMENTS = (
        Argument("--output", type=Path, metavar="FILE", help="Write to this file. Default: standard output."),
        Argument("--partition", metavar="NAME", help="Default: the partition of the scheduler that answers."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        count = 0
        with self._open_output(parsed_args.output) as file:
            for decision in self.session.list_decisions(parsed_args.partition):
                line = {**decision.document, "request_id": decision.request_id, "partition": decision.partition}
                file.write(json.dumps(line) + "\n")
                count += 1
        self.show_message(f"{count} decisions")

    @contextlib.contextmanager
    def _open_output(self, path: Path | None) -> Iterator[IO[str]]:
        if path is None:
            yield self.app.stdout
            return
        try:
            with path.open("w", encoding="utf-8") as file:
                yield file
        except OSError as why:
            raise CommandFailed(f"The decisions cannot be written to {path}: {why}") from why
