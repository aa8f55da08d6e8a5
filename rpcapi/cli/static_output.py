# SPDX-License-Identifier: Apache-2.0
"""Output that does not depend on anything: printed from files, because the import of the commands takes longer."""

import os
from collections.abc import Sequence

FOLDER = os.path.join(os.path.dirname(__file__), "static")  # noqa: PTH118, PTH120 - pathlib takes longer than the rest
HELP = "help.txt"
SCRIPTS = {"bash": "gantt.bash", "zsh": "_gantt"}


def read(name: str) -> str:
    """Return the text of a file."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - as above
        return file.read()


def find(argv: Sequence[str]) -> str | None:
    """Return the output of a command line if it is one of a file, else None."""
    if list(argv) in (["help"], ["--help"], ["-h"]):
        return read(HELP)
    if len(argv) == 2 and argv[0] == "complete" and argv[1] in SCRIPTS:
        return read(SCRIPTS[argv[1]])
    return None
