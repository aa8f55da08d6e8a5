# SPDX-License-Identifier: Apache-2.0
"""The comparison of archives with the tracked files."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from devstack.deploy.packaging import distribution
from devstack.deploy.packaging.distribution import Distribution
from devstack.deploy.packaging.programs import PackagingError

TRACKED = [
    *("setup.py", ".gitignore", ".github/workflows/ci.yml", "rpcapi/a.py", "rpcapi/lua/b.lua"),
    *(f"devstack/deploy/{name}" for name in ("etc/d.conf", "monitoring/dashboard.json", "monitoring/dashboard.py")),
    *("devstack/stack.py", "tests/c.py"),
]
IN_WHEEL = (
    *("rpcapi/a.py", "devstack/deploy/etc/d.conf"),
    *("devstack/deploy/monitoring/dashboard.json", "rpcapi/lua/b.lua"),
)
IN_SDIST = ("PKG-INFO", *(name for name in TRACKED if not name.startswith(".")))


def write(folder: Path, in_wheel: tuple[str, ...], in_sdist: tuple[str, ...], link: str = "") -> Distribution:
    """Write a wheel and a source archive with these files, and a symbolic link if one is named."""
    archives = Distribution(folder / "gantt-1.0.tar.gz", folder / "gantt-1.0-py3-none-any.whl")
    with zipfile.ZipFile(archives.wheel, "w") as wheel:
        wheel.writestr("gantt-1.0.dist-info/METADATA", "Metadata-Version: 2.4\nName: gantt\nVersion: 1.0\n\ntext")
        for name in in_wheel:
            wheel.writestr(name, "text")
    with tarfile.open(archives.sdist, "w:gz") as sdist:
        for name in in_sdist:
            sdist.addfile(tarfile.TarInfo(f"gantt-1.0/{name}"), io.BytesIO())
        if link:
            member = tarfile.TarInfo(f"gantt-1.0/{link}")
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            sdist.addfile(member)
    return archives


def test_complete_archives_have_no_problems(tmp_path: Path) -> None:
    archives = write(tmp_path, IN_WHEEL, IN_SDIST)

    assert distribution.problems(archives, TRACKED) == []
    assert archives.version == "1.0"
    assert distribution.find(tmp_path) == archives


def test_missing_files_are_named(tmp_path: Path) -> None:
    archives = write(tmp_path, IN_WHEEL[:-1], IN_SDIST[:-1])

    assert distribution.problems(archives, TRACKED) == [
        "rpcapi/lua/b.lua is missing from the wheel",
        "tests/c.py is missing from the source archive",
    ]


def test_foreign_files_are_named(tmp_path: Path) -> None:
    archives = write(tmp_path, (*IN_WHEEL, "devstack/stack.py"), (*IN_SDIST, "notes.txt"), link="rpcapi/d.py")

    assert distribution.problems(archives, TRACKED) == [
        "devstack/stack.py has no place in the wheel",
        "notes.txt has no place in the source archive",
        "rpcapi/d.py has no place in the source archive",
        "gantt-1.0/rpcapi/d.py in the source archive is no ordinary file",
    ]


def test_documentation_is_listed_by_its_path_below_the_prefix(tmp_path: Path) -> None:
    page, manual = "share/doc/gantt/html/index.html", "share/man/man1/gantt.1"
    data = [f"gantt-1.0.data/data/{name}" for name in (page, manual, "etc/gantt.conf")]
    archives = write(tmp_path, (*IN_WHEEL, *data), (*IN_SDIST, page, manual))

    assert archives.documentation == {page, manual}
    assert distribution.problems(archives, TRACKED) == []


def test_source_archive_without_a_changelog_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match=r"gantt-1\.0\.tar\.gz has no CHANGELOG\.rst"):
        _ = write(tmp_path, IN_WHEEL, IN_SDIST).changelog


def test_folder_with_two_wheels_is_refused(tmp_path: Path) -> None:
    write(tmp_path, IN_WHEEL, IN_SDIST)
    (tmp_path / "gantt-1.1-py3-none-any.whl").touch()

    with pytest.raises(PackagingError, match=r"one source archive and one wheel, but contains .*gantt-1\.1"):
        distribution.find(tmp_path)
