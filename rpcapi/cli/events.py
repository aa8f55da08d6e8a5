# SPDX-License-Identifier: Apache-2.0
"""``gantt events``: changes of host state."""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.admin.argument import Argument, repeatable
from rpcapi.cli import live_output
from rpcapi.cli.command import CommandOutput, Lister, document_cell
from rpcapi.cli.partition import PARTITION_OPTION

COLUMNS = ("partition", "epoch", "position", "kind", "payload")
POSITION = re.compile(r"(?P<partition>.+):(?P<epoch>\d+):(?P<position>\d+)")


# (epoch, position) in a partition's log.
LogPosition = tuple[int, int]


def _position(text: str) -> tuple[str, LogPosition]:
    match = POSITION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not PARTITION:EPOCH:POSITION, such as default:3:1204")
    return match["partition"], (int(match["epoch"]), int(match["position"]))


class FollowEvents(Lister):
    """Print changes of host state, one per line, until interrupted.

    Each line has the partition, epoch and position to continue from (--after), and the kind and payload of a host state
    notification. After an interruption, the last change may be printed again. Kind "resync" means that changes are
    missing: read all documents again.
    """

    ARGUMENTS = (
        repeatable(
            "--after",
            type=_position,
            metavar="PARTITION:EPOCH:POSITION",
            help="Continue after this position of a partition; may be repeated. Default: from now on.",
        ),
        Argument(
            "--kind",
            action="append",
            metavar="KIND",
            help="Only changes of this kind: provider, gone, used, service, alive, opened, state, epoch; may be "
            "repeated. Default: all but 'used', which changes with every claim.",
        ),
        Argument("--once", action="store_true", help="Stop after the existing changes."),
        live_output.INTERVAL_OPTION,
        PARTITION_OPTION,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        return COLUMNS, self._rows(self._start(parsed_args), parsed_args)

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        live_output.print_rows(column_names, data, parsed_args, self.app.stdout)
        return 0

    def _start(self, args: argparse.Namespace) -> dict[str, LogPosition]:
        """Return the start position of each partition; raises UnknownPartition."""
        reply = self.session.call(self.session.scheduler.list_partitions)
        present = {name: (epoch, position) for name, epoch, position in reply.rows("names", "epochs", "positions")}
        after = dict(args.after)
        for name in (*after, *([args.partition] if args.partition else ())):
            if name not in present:
                raise errors.UnknownPartition(partition=name, choices=", ".join(present))
        return {name: after.get(name, position) for name, position in present.items() if args.partition in (None, name)}

    def _rows(self, positions: dict[str, LogPosition], args: argparse.Namespace) -> Iterator[Sequence[Any]]:
        try:
            while True:
                at_end = True
                for name, start in list(positions.items()):
                    page = self.session.call(self.session.claims_of(name).list_changes, *start, args.kind)
                    for change in page.changes:
                        yield self._row(name, change)
                        positions[name] = (change["epoch"], change["position"])
                    positions[name] = (page.epoch, page.position)
                    at_end = at_end and page.at_end
                if at_end and args.once:
                    return
                if at_end:
                    live_output.pause(args.interval)
        finally:
            options = " ".join(f"--after {name}:{epoch}:{position}" for name, (epoch, position) in positions.items())
            self.show_message(f"Continue with: gantt events {options}")

    @staticmethod
    def _row(name: str, change: dict[str, Any]) -> Sequence[Any]:
        payload = change["payload"]
        cell = document_cell(payload) if isinstance(payload, dict) else payload
        return name, change["epoch"], change["position"], change["kind"], cell
