# SPDX-License-Identifier: Apache-2.0
"""Versions that may be released, in repositories with tags, and Debian's versions of them."""

import itertools
from pathlib import Path

import pytest

from devstack.deploy.packaging import versions
from devstack.deploy.packaging.programs import PackagingError, run

IDENTITY = ("-c", "user.name=tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of two commits: the first has the tags 1.0.0 and `other`, the second none."""
    run("git", "init", "--quiet", tmp_path)
    for number in (1, 2):
        run("git", *IDENTITY, "-C", tmp_path, "commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
        if number == 1:
            run("git", "-C", tmp_path, "tag", "1.0.0")
            run("git", "-C", tmp_path, "tag", "other")
    return tmp_path


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0rc1", "2.0.0"])
def test_newer_version_may_be_tagged(repository: Path, version: str) -> None:
    assert versions.require_release(repository, version) == f"{version}, not tagged yet"


def test_version_of_this_commits_tag_may_be_built_again(repository: Path) -> None:
    run("git", "-C", repository, "tag", "1.1.0")

    assert versions.require_release(repository, "1.1.0") == "1.1.0, the tag of this commit"


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("1.0.0", "the tag 1.0.0 is of another commit"),
        ("1.0.0rc1", "1.0.0rc1 in setup.py is older than the tag 1.0.0"),
        ("0.9.0", "0.9.0 in setup.py is older than the tag 1.0.0"),
        ("1.1.0.dev3", "1.1.0.dev3 in setup.py is no release: set a version such as 1.1.0"),
        ("1.1.0+local", "is no release"),
    ],
)
def test_other_versions_are_refused(repository: Path, version: str, reason: str) -> None:
    with pytest.raises(PackagingError, match=reason.replace("+", r"\+")):
        versions.require_release(repository, version)


@pytest.mark.parametrize(
    ("version", "semantic"), [("0.1.0", "0.1.0"), ("0.2.0rc1", "0.2.0-rc1"), ("0.2.0.dev3", "0.2.0-dev3")]
)
def test_helm_reads_candidates_with_a_hyphen(version: str, semantic: str) -> None:
    assert versions.semantic(version) == semantic


def test_debian_sorts_the_versions_as_python_does() -> None:
    pairs = [(version, versions.debian(version, 1)) for version in ("0.1.0.dev1", "0.1.0rc1", "0.1.0", "0.1.1")]

    assert [text for _, text in pairs] == ["0.1.0~dev1-1", "0.1.0~rc1-1", "0.1.0-1", "0.1.1-1"]
    for (_, older), (_, newer) in itertools.pairwise(pairs):
        run("dpkg", "--compare-versions", older, "lt", newer)
