# SPDX-License-Identifier: Apache-2.0
"""``gantt decision``: export of recorded decisions."""

import argparse
import contextlib
import json
from pathlib import Path

from rpcapi.admin.argument import Argument
from rpcapi.cli.command import Command, CommandFailed


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
