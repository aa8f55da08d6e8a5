# SPDX-License-Identifier: Apache-2.0
"""Reads docs/install.md: its sections, and the commands in them with the machines that each is for.

A block of commands is fenced as ``bash``; its first line is a comment that lists machines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "install.md"
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"^ *cat >>? (\S+) <<'?(\w+)'?\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
_MACHINE = re.compile(r"\| `([a-z0-9]+)` \| (192\.0\.2\.\d+) \|")


@dataclass(frozen=True)
class Block:
    """Commands, and the machines on which they are run, one after the other."""

    section: str
    machines: tuple[str, ...]
    commands: str

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield path and text of the files that the commands write."""
        for path, _, text in _HEREDOC.findall(self.commands):
            yield path, text


def sections() -> dict[str, str]:
    """Return the text of each section by its heading; that before the first heading is under ""."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def blocks(section: str | None = None) -> list[Block]:
    """Return the blocks of commands of a section, or of all, in their order."""
    texts = sections() if section is None else {section: sections()[section]}
    return [_parse(heading, text) for heading, part in texts.items() for text in _BLOCK.findall(part)]


def machines() -> dict[str, str]:
    """Return the address of each machine by its name."""
    return dict(_MACHINE.findall(sections()[""]))


def _parse(section: str, text: str) -> Block:
    first, _, commands = text.partition("\n")
    assert first.startswith("# "), f"a block of section {section!r} does not begin with its machines: {first}"
    return Block(section, tuple(first.removeprefix("# ").split(", ")), commands)
