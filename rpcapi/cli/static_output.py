# SPDX-License-Identifier: Apache-2.0
"""Output that does not depend on anything: printed from files, because the import of the commands takes longer."""

import os
from collections.abc import Sequence

FOLDER = os.path.join(os.path.dirname(__file__), "static")  # noqa: PTH118, PTH120 - pathlib takes longer than the rest
HELP = "help.txt"
HELP_OPTIONS = ("--help", "-h")
SCRIPTS = {"bash": "gantt.bash", "zsh": "_gantt"}


def help_file(command: Sequence[str]) -> str:
    """Return the name of the file with the help of a command, given by its words."""
    return "-".join(["help", *command]) + ".txt"


def read(name: str) -> str:
    """Return the text of a file."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - as above
        return file.read()


def find(argv: Sequence[str]) -> str | None:
    """Return the output of a command line if it is one of a file, else None."""
    if argv and (argv[0] == "help" or argv[-1] in HELP_OPTIONS):
        return _find_help(argv[1:] if argv[0] == "help" else argv[:-1])
    if len(argv) == 2 and argv[0] == "complete" and argv[1] in SCRIPTS:
        return read(SCRIPTS[argv[1]])
    return None


def _find_help(command: Sequence[str]) -> str | None:
    if not all(map(str.isalpha, command)):
        return None
    try:
        return read(help_file(command))
    except FileNotFoundError:
        return None
