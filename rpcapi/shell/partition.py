# SPDX-License-Identifier: Apache-2.0
"""``gantt partition``: the cells of the deployment."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.shell.columns import Counts, Text
from rpcapi.shell.command import Lister

COLUMNS = ("name", "state", "hosts", "alive", "claims", "epoch", "position")


class PartitionList(Lister):
    """List partitions: whether their stores answer, and what is in them."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        found = self.session.ask(self.session.scheduler.list_partitions)
        rows = zip(
            found.names,
            ["up" if available else "down" for available in found.available],
            found.hosts,
            found.alive,
            [Text(None) if claims is None else Counts(claims) for claims in found.claims],
            found.epochs,
            found.positions,
            strict=True,
        )
        return COLUMNS, list(rows)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let a command be narrowed to one partition."""
    parser.add_argument("--partition", metavar="NAME", help="Only this partition; see `gantt partition list`.")
