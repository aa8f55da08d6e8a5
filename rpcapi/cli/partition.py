# SPDX-License-Identifier: Apache-2.0
"""``gantt partition``: the partitions (cells) of the deployment."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.cli.columns import CountsColumn, TextColumn
from rpcapi.cli.command import Lister

COLUMNS = ("name", "state", "hosts", "alive", "claims", "epoch", "position")


class ListPartitions(Lister):
    """List partitions: state of the store, hosts and claims."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        reply = self.session.call(self.session.scheduler.list_partitions)
        rows = zip(
            reply.names,
            ["up" if available else "down" for available in reply.available],
            reply.hosts,
            reply.alive,
            [TextColumn(None) if claims is None else CountsColumn(claims) for claims in reply.claims],
            reply.epochs,
            reply.positions,
            strict=True,
        )
        return COLUMNS, list(rows)


def add_partition_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that restricts a command to one partition."""
    parser.add_argument("--partition", metavar="NAME", help="Only this partition; see `gantt partition list`.")
