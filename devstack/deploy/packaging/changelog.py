# SPDX-License-Identifier: Apache-2.0
"""Changelog of all versions in reStructuredText, from reno's release notes."""

import sys
import tempfile
from pathlib import Path

from devstack.deploy.packaging import checkout
from devstack.deploy.packaging.programs import PackagingError, run

TITLE = "Changes of gantt"
RENO = Path(sys.executable).with_name("reno")


def lint(source: Path) -> None:
    run(RENO, "--quiet", "lint", source)


def write(source: Path, version: str) -> str:
    """Return the changelog, with notes since the last tag under ``version``. Raises PackagingError without any."""
    with tempfile.TemporaryDirectory() as folder:
        checkout.clone(Path(folder), version, source)
        text = run(RENO, "--quiet", "report", "--no-show-source", "--title", TITLE, folder)
    if version not in text.splitlines():
        raise PackagingError(f"no release note is of version {version}: write one with `reno new`")
    return text
