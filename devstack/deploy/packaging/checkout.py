# SPDX-License-Identifier: Apache-2.0
"""Checkout of this repository: tracked files and commit."""

import shutil
from pathlib import Path

from devstack.deploy.packaging.programs import run

ROOT = Path(__file__).resolve().parents[3]


def tracked_files(checkout: Path = ROOT) -> list[str]:
    """Return the paths of git's tracked files in the checkout. Raises PackagingError outside of git."""
    names = run("git", "-C", checkout, "ls-files", "-z").split("\0")
    return [name for name in names if name and (checkout / name).is_file()]


def commit_time(checkout: Path = ROOT) -> str:
    """Return the time of the commit in seconds since 1970, the time of everything built from it."""
    return run("git", "-C", checkout, "log", "-1", "--format=%ct").strip()


def clone(folder: Path, version: str, checkout: Path = ROOT) -> None:
    """Clone the commit into a new folder, with the tag of its release, because reno reads tags."""
    run("git", "clone", "--quiet", checkout, folder)
    run("git", "-C", folder, "tag", "--force", version)


def export(folder: Path, checkout: Path = ROOT) -> None:
    """Copy the tracked files into a folder, so that builds leave no files in the checkout."""
    for name in tracked_files(checkout):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / name, target)
