# SPDX-License-Identifier: Apache-2.0
"""The Sphinx configuration of the documentation: `tox -e docs`."""

import inspect
import io
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import mmdr
from docutils import nodes
from oslo_versionedobjects.fields import UnspecifiedDefault
from sphinx.util.docutils import SphinxDirective

from devstack.lab.main import LabApp
from rpcapi.cli.application import Application
from rpcapi.cli.main import GanttApp
from rpcapi.objects.base import GanttObjectRegistry

project = "gantt"
author = "the authors of gantt"
copyright = "the authors of gantt"
version = release = installed_version("gantt")

extensions = [
    "myst_parser",
    "oslo_config.sphinxext",
    "reno.sphinxext",
    "sphinx.ext.autodoc",
]
myst_fence_as_directive = ["mermaid"]
exclude_patterns = ["plugins/**"]
suppress_warnings = ["myst.header"]  # pages of the API begin with the second level
myst_heading_anchors = 4
myst_ref_domains = ["std", "py"]  # others cannot resolve a link of Markdown
autodoc_member_order = "bysource"
autodoc_typehints = "description"

# `tox -e links` requests the links to other sites; addresses of examples are none.
linkcheck_ignore = [r"https?://([\w.-]+\.)?example(\.(org|com))?(/|:|$)", r"https?://(127\.0\.0\.1|192\.0\.2\.\d+)[:/]"]
linkcheck_timeout = 30

html_theme = "furo"
html_title = f"gantt {release}"
html_show_copyright = False
html_copy_source = False

os.environ["COLUMNS"] = "100"  # width of help
APPLICATIONS: dict[str, Application] = {"reference/gantt": GanttApp(), "reference/lab": LabApp()}
COMMANDS = "reference/commands/"  # a page for each console script but gantt; those of daemons include daemons.txt


def man_page(path: Path) -> tuple[str, str, str, str, int]:
    """Return the man page of a command's page, whose title is its name and what it does."""
    text = path.read_text()
    name, _, purpose = text.partition("\n")[0].removeprefix("# ").partition(": ")
    return COMMANDS + name, name, purpose, author, 8 if "daemons.txt" in text else 1


man_pages = [
    ("reference/gantt", "gantt", "operate a gantt cluster", author, 1),
    *map(man_page, sorted((Path(__file__).parent / COMMANDS).glob("*.md"))),
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
    """Add the help of every command to its page."""
    if page in APPLICATIONS:
        application = APPLICATIONS[page]
        content[0] += f"\n```text\n{help_text(application)}```\n{command_sections(application)}"
    elif page.startswith(COMMANDS):
        name = page.removeprefix(COMMANDS)
        content[0] += f"\n## Options\n\n```text\n{program_help(name)}```\n"


def command_sections(application: Application) -> str:
    """Return a section with the help of each command."""
    names = sorted(name for name, command in application.command_manager if not command.value.startswith("cliff."))
    return "".join(
        f"\n## {application.NAME} {name}\n\n```text\n{help_text(application, *name.split())}```\n" for name in names
    )


def help_text(application: Application, *command: str) -> str:
    """Return the help of a program of commands, or of one of its commands."""
    output = application.stdout = io.StringIO()
    application.options, _ = application.parser.parse_known_args([])
    application.run_subcommand(["help", *command])
    return output.getvalue()


def add_objects(app: Any, page: str, content: list[str]) -> None:
    """Add every versioned object of the RPC APIs to their page."""
    if page == "reference/objects":
        for name, versions in sorted(GanttObjectRegistry.obj_classes().items()):
            newest = versions[0]
            text = re.sub(r"^(Version \d)", r"| \1", inspect.getdoc(newest) or "", flags=re.MULTILINE)
            text = re.sub(r"(\w)@(\w)", r"\1\\@\2", text)  # no mail address
            rows = "".join(map(field_row, newest.fields, newest.fields.values()))
            table = f".. list-table::\n   :header-rows: 1\n\n   * - field\n     - type\n     - default\n{rows}"
            content[0] += f"\n## {name} {newest.VERSION}\n\n```{{eval-rst}}\n{text}\n\n{table}```\n"


def field_row(name: str, field: Any) -> str:
    """Return the row of a field in the table of its object."""
    kind = type(field).__name__.removesuffix("Field")
    if kind == "Column":
        kind = re.sub(r"\(.*", "", repr(field), flags=re.DOTALL).replace("NoneType", "None")
    elif hasattr(field, "objname"):
        kind = field.objname if kind == "Object" else f"list of {field.objname}"
    if field.nullable:
        kind += " or None"
    default = "" if field.default is UnspecifiedDefault else f"``{json.dumps(field.default)}``"
    return f"   * - {name}\n     - {kind}\n     - {default}\n"


def program_help(name: str) -> str:
    """Return the help of a console script."""
    script = Path(sys.executable).with_name(name)
    return subprocess.run([str(script), "--help"], capture_output=True, text=True, check=True).stdout  # noqa: S603


class Mermaid(SphinxDirective):
    """A diagram, drawn while the page is built: the site is read without a network, and loads no script."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        picture = mmdr.render("\n".join(self.content)).svg()
        # Its text is dark in both colour schemes of the site.
        return [nodes.raw("", f'<div style="background: white">{picture}</div>', format="html")]


def drop_links(app: Any, doctree: Any, page: str) -> None:
    """Leave the text of links in man pages, which cannot lead to other pages; it names the page of the site."""
    if app.builder.name == "man":
        for link in list(doctree.findall(nodes.reference)):
            link.replace_self(nodes.Text(link.astext().replace(".md", ".html")))


def setup(app: Any) -> None:
    """Register the above."""
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", add_commands)
    app.connect("source-read", add_objects)
    app.connect("autodoc-process-docstring", format_versions)
    app.connect("include-read", link_copies)
    app.connect("source-read", link_policy)
    app.connect("doctree-resolved", drop_links)
