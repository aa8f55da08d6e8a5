# SPDX-License-Identifier: Apache-2.0
"""Version numbers and tags of releases."""

import contextlib
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

from devstack.deploy.packaging.programs import PackagingError, run


def of_checkout(checkout: Path) -> str:
    return run(sys.executable, "setup.py", "--quiet", "--version", cwd=checkout).strip().splitlines()[-1]


def require_release(checkout: Path, version: str) -> str:
    """Return whether the commit is tagged, as text. Raises PackagingError if ``version`` cannot be released."""
    number = Version(version)
    if number.is_devrelease or number.local:
        raise PackagingError(f"{version} in setup.py is no release: set a version such as {number.base_version}")
    tags = _versions(run("git", "-C", checkout, "tag", "--list"))
    here = _versions(run("git", "-C", checkout, "tag", "--points-at", "HEAD"))
    if number in here:
        return f"{version}, the tag of this commit"
    if number in tags:
        raise PackagingError(f"the tag {version} is of another commit: set a newer version in setup.py")
    if tags and number < max(tags):
        raise PackagingError(f"{version} in setup.py is older than the tag {max(tags)}: set a newer one")
    return f"{version}, not tagged yet"


def debian(version: str, revision: int) -> str:
    """Format a version for Debian, with ~ so that release candidates sort before the release."""
    number = Version(version)
    text = number.base_version
    if number.pre:
        text += f"~{number.pre[0]}{number.pre[1]}"
    if number.dev is not None:
        text += f"~dev{number.dev}"
    return f"{text}-{revision}"


def semantic(version: str) -> str:
    """Format a version for Helm (SemVer), with a hyphen before a release candidate."""
    number = Version(version)
    text = number.base_version
    if number.pre:
        text += f"-{number.pre[0]}{number.pre[1]}"
    return text if number.dev is None else f"{text}-dev{number.dev}"


def _versions(lines: str) -> list[Version]:
    versions = []
    for line in lines.split():
        with contextlib.suppress(InvalidVersion):
            versions.append(Version(line))
    return versions
