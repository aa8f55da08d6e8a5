# SPDX-License-Identifier: Apache-2.0
"""Reads a guide of installation: its sections, and the commands in them with the machines that each is for.

A block of commands is fenced as ``bash``; its first line is a comment that lists machines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support import CHECKOUT

DOCS = CHECKOUT / "docs"
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"^ *cat >>? (\S+) <<'?(\w+)'?\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
_MACHINE = re.compile(r"\| `([a-z0-9]+)` \| (192\.0\.2\.\d+) \|")
_STEP = re.compile(r"^\d+\. \[(.+)\]\((\S*?)#\S+\)", re.MULTILINE)


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


@dataclass(frozen=True)
class Guide:
    """A page of docs, by its file name."""

    name: str

    @property
    def text(self) -> str:
        return (DOCS / self.name).read_text()

    def sections(self) -> dict[str, str]:
        """Return the text of each section by its heading; that before the first heading is under ""."""
        parts = re.split(r"^## (.+)\n", self.text, flags=re.MULTILINE)
        return dict(zip(["", *parts[1::2]], parts[::2], strict=True))

    def blocks(self, section: str | None = None) -> list[Block]:
        """Return the blocks of commands of a section, or of all, in their order."""
        texts = self.sections() if section is None else {section: self.sections()[section]}
        return [_parse(heading, text) for heading, part in texts.items() for text in _BLOCK.findall(part)]

    def machines(self) -> dict[str, str]:
        """Return the address of each machine by its name."""
        return dict(_MACHINE.findall(self.sections()[""]))

    def steps(self) -> list[tuple["Guide", str]]:
        """Return the sections of this page and of others that its section "Steps" lists, in their order."""
        return [(Guide(page or self.name), section) for section, page in _STEP.findall(self.sections()["Steps"])]

    def ports(self) -> dict[str, set[int]]:
        """Return the ports that the section "Firewall" lists, by what its column "on" says."""
        ports: dict[str, set[int]] = {}
        for row in re.findall(r"^\| \d+ \|.*$", self.sections()["Firewall"], re.MULTILINE):
            port, _, place = (cell.strip() for cell in row.split("|")[1:4])
            ports.setdefault(place, set()).add(int(port))
        return ports


SINGLE = Guide("install-single.md")
INSTALL = Guide("install.md")
LARGE = Guide("install-large.md")


def _parse(section: str, text: str) -> Block:
    first, _, commands = text.partition("\n")
    assert first.startswith("# "), f"a block of section {section!r} does not begin with its machines: {first}"
    return Block(section, tuple(first.removeprefix("# ").split(", ")), commands)
