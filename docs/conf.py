# SPDX-License-Identifier: Apache-2.0
"""The Sphinx configuration of the documentation: `tox -e docs`."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from rpcapi.cli import static_output

project = "gantt"
author = "the authors of gantt"
copyright = "the authors of gantt"
version = release = installed_version("gantt")

extensions = [
    "myst_parser",
    "oslo_config.sphinxext",
    "reno.sphinxext",
    "sphinx.ext.autodoc",
    "sphinxcontrib.mermaid",
]
myst_fence_as_directive = ["mermaid"]
exclude_patterns = ["plugins/**"]
suppress_warnings = ["myst.header"]  # pages of the API begin with the second level
myst_heading_anchors = 4
myst_ref_domains = ["std", "py"]  # others cannot resolve a link of Markdown
autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = f"gantt {release}"
html_show_copyright = False

man_pages = [
    ("reference/gantt", "gantt", "operate a gantt cluster", author, 1),
    ("reference/daemons", "gantt-daemons", "the services of gantt", author, 8),
]


def format_versions(app: Any, *arguments: Any) -> None:
    """Show the versions of an RPC API in a client's docstring line by line; longer ones go on with an indent."""
    lines: list[str] = arguments[-1]
    is_version = False
    for number, line in enumerate(lines):
        is_continued = is_version and line.startswith(" ")
        is_version = is_continued or re.match(r"\d+\.\d+ - ", line) is not None
        if is_version:
            lines[number] = f"  {line.strip()}" if is_continued else f"| {line}"


# Pages at the top of the checkout, and their copies here.
COPIES = {"](CONTRIBUTING.md)": "](docs/contributing.md)", "](SECURITY.md)": "](docs/security-policy.md)"}


def link_copies(app: Any, path: Any, parent: str, content: list[str]) -> None:
    """Let pages of the checkout's top link to each other's copies."""
    for link, copy in COPIES.items():
        content[0] = content[0].replace(link, copy)


def link_policy(app: Any, page: str, content: list[str]) -> None:
    """Let a page of this folder link to the copy of the security policy."""
    content[0] = content[0].replace("](../SECURITY.md)", "](security-policy.md)")


def add_commands(app: Any, page: str, content: list[str]) -> None:
    """Add the help of every command of gantt to its page."""
    if page == "reference/gantt":
        for path in sorted(Path(static_output.FOLDER).glob("help-*.txt")):
            command = path.read_text().split(" [-h]")[0].removeprefix("usage: ")
            content[0] += f"\n## {command}\n\n```text\n{path.read_text()}```\n"


def setup(app: Any) -> None:
    """Register the above."""
    app.connect("source-read", add_commands)
    app.connect("autodoc-process-docstring", format_versions)
    app.connect("include-read", link_copies)
    app.connect("source-read", link_policy)
