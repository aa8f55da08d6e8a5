# SPDX-License-Identifier: Apache-2.0
"""Site and man pages of a release. Builds need extra ``all`` and dependency group ``docs``."""

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from devstack.deploy.packaging import checkout
from devstack.deploy.packaging.programs import PackagingError, run

SHARE = "share"
SITE = "share/doc/gantt/html"
MAN = "share/man"
PAGES = "docs/"
NOT_PAGES = "docs/plugins/"  # example package, see exclude_patterns in docs/conf.py
LEFT_OUT = (".buildinfo", ".doctrees")


def build(folder: Path, version: str, source: Path = checkout.ROOT) -> Path:
    """Build the site and man pages reproducibly; return ``folder``/share. Raises PackagingError for any warning."""
    share = folder / SHARE
    with tempfile.TemporaryDirectory() as work:
        tree, doctrees, man = Path(work) / "gantt", Path(work) / "doctrees", Path(work) / "man"
        checkout.clone(tree, version, source)
        checkout.export(tree, source)
        for builder, output in (("html", folder / SITE), ("man", man)):
            run(
                *(sys.executable, "-W", "ignore", "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"),
                *("--builder", builder, "--doctree-dir", doctrees, "docs", output.resolve()),
                cwd=tree,
                env={"SOURCE_DATE_EPOCH": checkout.commit_time(source), "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            )
        for page in man.glob("gantt*.[1-9]"):
            section = folder / MAN / f"man{page.suffix.removeprefix('.')}"
            section.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, section / page.name)
    for name in LEFT_OUT:
        path = folder / SITE / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return share


def pages(tracked: Iterable[str]) -> set[str]:
    sources = [name for name in tracked if name.startswith(PAGES) and not name.startswith(NOT_PAGES)]
    return {
        f"{SITE}/{name.removeprefix(PAGES).removesuffix('.md')}.html" for name in sources if name.endswith(".md")
    } | {f"{SITE}/{name}" for name in ("search.html", "searchindex.js", "genindex.html")}


def man_page(program: str, names: Iterable[str]) -> str:
    matches = [name for name in names if name.startswith(f"{MAN}/man") and Path(name).stem == program]
    if len(matches) != 1:
        raise PackagingError(
            f"there must be one man page of {program}, but there are {matches}: build the documentation"
        )
    return matches[0]


def problems(names: Iterable[str], tracked: Iterable[str], programs: Iterable[str]) -> list[str]:
    """Return one line per tracked page and per program whose page is missing from ``names``."""
    present = set(names)
    lines = [f"{name} is missing from the documentation" for name in sorted(pages(tracked) - present)]
    for program in sorted(programs):
        try:
            man_page(program, present)
        except PackagingError as why:
            lines.append(str(why))
    return lines
