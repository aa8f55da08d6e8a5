# SPDX-License-Identifier: Apache-2.0
"""Tracked files and commit of this repository's checkout."""

import shutil
from pathlib import Path

from devstack.deploy.packaging.programs import run

ROOT = Path(__file__).resolve().parents[3]


def tracked_files(checkout: Path = ROOT) -> list[str]:
    """Return the files that git tracks, except deleted ones. Raises PackagingError outside of git."""
    names = run("git", "-C", checkout, "ls-files", "-z").split("\0")
    return [name for name in names if name and (checkout / name).is_file()]


def commit_time(checkout: Path = ROOT) -> str:
    """Return the commit's Unix time, which everything built from the commit gets as its time."""
    return run("git", "-C", checkout, "log", "-1", "--format=%ct").strip()


def clone(folder: Path, version: str, checkout: Path = ROOT) -> None:
    """Clone the commit into a new folder and tag it with ``version``, because reno reads tags."""
    run("git", "clone", "--quiet", checkout, folder)
    run("git", "-C", folder, "tag", "--force", version)


def export(folder: Path, checkout: Path = ROOT) -> None:
    """Copy the tracked files into a folder, so that builds leave no files in the checkout."""
    for name in tracked_files(checkout):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / name, target)
