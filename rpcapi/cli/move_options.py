# SPDX-License-Identifier: Apache-2.0
"""Options of the commands that move all servers of a host."""

from collections.abc import Sequence

from rpcapi.admin.argument import Argument, parse_number
from rpcapi.admin.host_moves import MAX_OPEN
from rpcapi.cli import progress

parse_parallel = parse_number(int, 1, MAX_OPEN)


def make_options(parallel: int) -> Sequence[Argument]:
    return (
        Argument(
            "--parallel",
            type=parse_parallel,
            default=parallel,
            metavar="N",
            help=f"Servers moved at a time, up to {MAX_OPEN} ({parallel}).",
        ),
        Argument(
            "--timeout",
            type=float,
            default=300.0,
            metavar="S",
            help="Seconds to wait for the next server (300).",
        ),
        progress.OPTION,
    )
