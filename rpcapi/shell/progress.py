# SPDX-License-Identifier: Apache-2.0
"""A progress bar on standard error, for somebody who watches."""

import argparse
from typing import Any, TextIO


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let the user ask for the bar where it is not shown by itself."""
    parser.add_argument(
        "--progress", action="store_true", help="Show a progress bar even where standard error is no terminal."
    )


def bar(total: int, what: str, stream: TextIO, args: argparse.Namespace) -> Any:
    """Return a tqdm bar of ``total`` steps: shown with --progress, or to somebody who reads a table at a terminal."""
    from tqdm import tqdm  # noqa: PLC0415 - only a command that waits needs it

    watched = stream.isatty() and getattr(args, "formatter", "table") == "table"
    return tqdm(
        total=total, desc=what, file=stream, unit="", dynamic_ncols=True, disable=not (args.progress or watched)
    )
