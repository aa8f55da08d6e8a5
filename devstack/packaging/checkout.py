# SPDX-License-Identifier: Apache-2.0
"""A checkout of this repository: its tracked files and its commit."""

import shutil
from pathlib import Path

from devstack.packaging.programs import run

ROOT = Path(__file__).resolve().parents[2]


def tracked_files(checkout: Path = ROOT) -> list[str]:
    """Return the paths of the files that git tracks, below the checkout; raises PackagingError outside of git."""
    names = run("git", "-C", checkout, "ls-files", "-z").split("\0")
    return [name for name in names if name and (checkout / name).is_file()]


def commit_time(checkout: Path = ROOT) -> str:
    """Return when the present commit was made, in seconds since 1970: the time of all that is built from it."""
    return run("git", "-C", checkout, "log", "-1", "--format=%ct").strip()


def clone(folder: Path, version: str, checkout: Path = ROOT) -> None:
    """Clone the present commit into a new folder, with the tag that a release of it will have: reno reads tags."""
    run("git", "clone", "--quiet", checkout, folder)
    run("git", "-C", folder, "tag", "--force", version)


def export(folder: Path, checkout: Path = ROOT) -> None:
    """Copy the tracked files, as they are in the checkout, into a folder: builds leave no files in the checkout."""
    for name in tracked_files(checkout):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / name, target)
