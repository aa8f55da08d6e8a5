# SPDX-License-Identifier: Apache-2.0
"""Plots of measurements, by matplotlib."""

import os
import sys
from pathlib import Path
from typing import Any

from rpcapi.cli.command import CommandFailed

NO_MATPLOTLIB = "--plot needs matplotlib, which is not installed: `pip install matplotlib`."


def empty_figure(path: Path) -> Any:
    """Return an empty figure; raises CommandFailed if it cannot be drawn or ``path`` cannot be written."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - most runs plot nothing
    except ImportError as error:
        raise CommandFailed(NO_MATPLOTLIB) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    if path.suffix[1:].lower() not in figure.canvas.get_supported_filetypes():
        raise CommandFailed(f"The plot {path} cannot be written: use a file name that ends in .png, .svg or .pdf")
    if not os.access(path if path.exists() else path.parent, os.W_OK) or path.is_dir():
        raise CommandFailed(f"The plot {path} cannot be written: its folder is missing or not writable")
    return figure


def save(figure: Any, path: Path) -> None:
    """Write the figure; a failure is printed, so that what was measured is not lost."""
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as why:
        print(f"The plot {path} cannot be written: {why}", file=sys.stderr)
