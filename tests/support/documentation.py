# SPDX-License-Identifier: Apache-2.0
"""Reads the code blocks and commands of README.md, CONTRIBUTING.md and docs/*.md."""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from tests.support import CHECKOUT

PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
SHELL_LANGUAGES = ("console", "sh", "")
LAB = "./devstack/lab.sh"
PROGRAMS = ("gantt", "gantt-status", LAB)
PLUGIN = "openstack scheduler"


class Block(NamedTuple):
    """A fenced code block: the page's path below the checkout, the language or "", and the text."""

    page: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    """Yield the code blocks of all pages in their order."""
    for path in PAGES:
        page = str(path.relative_to(CHECKOUT))
        for language, text in re.findall(r"^```(\w*)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
            yield Block(page, language, text)


def commands() -> Iterator[tuple[str, str]]:
    """Yield (page, command line) of each shell block, without prompts and comments.

    In blocks with output only the lines after a prompt are commands.
    """
    for page, language, text in blocks():
        if language not in SHELL_LANGUAGES or not re.match(r"\$ |\S*/|gantt |createuser |python3 ", text):
            continue
        lines = text.splitlines()
        prompted = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if line.strip() and line.startswith("$ ") == prompted:
                yield page, re.sub(r"\s+# .*", "", line.removeprefix("$ ") if prompted else line)


def mentions() -> Iterator[tuple[str, list[str]]]:
    """Yield (page, arguments) of each command of gantt in a shell block or in `code`, without brackets of usages.

    Those of the plug-in for openstackclient are among them; "openstack scheduler" is one argument.
    """
    for page, line in commands():
        if line.startswith(PROGRAMS):
            yield page, shlex.split(line)
        elif line.startswith(f"{PLUGIN} "):
            yield page, [PLUGIN, *shlex.split(line.removeprefix(PLUGIN))]
    for path in PAGES:
        for line in re.findall(rf"`((?:gantt|gantt-status|{re.escape(LAB)}) [^`]+)`", path.read_text()):
            yield str(path.relative_to(CHECKOUT)), shlex.split(line.replace("[", "").replace("]", ""))
