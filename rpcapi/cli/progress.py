# SPDX-License-Identifier: Apache-2.0
"""Progress bar on standard error."""

import argparse
from typing import Any, TextIO

from rpcapi.admin.argument import Argument

OPTION = Argument(
    "--progress", action="store_true", help="Show a progress bar even if standard error is not a terminal."
)


def progress_bar(total: int, label: str, stream: TextIO, args: argparse.Namespace) -> Any:
    """Return a tqdm bar, visible with --progress or for table output on a terminal."""
    from tqdm import tqdm  # noqa: PLC0415 - only a command that waits needs it

    is_interactive = stream.isatty() and getattr(args, "formatter", "table") == "table"
    return tqdm(
        total=total, desc=label, file=stream, unit="", dynamic_ncols=True, disable=not (args.progress or is_interactive)
    )
