# SPDX-License-Identifier: Apache-2.0
"""Every unit, user and mode of devstack/deploy/systemd is in exactly one Debian package."""

import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from devstack.deploy.packaging import checkout, debian_packages
from devstack.deploy.packaging.debian_packages import SERVICES, TEMPLATE, UNITS
from devstack.deploy.packaging.distribution import Distribution
from devstack.deploy.packaging.programs import PackagingError

SOURCE = checkout.ROOT
# Programs, with the sections of their man pages.
PAGES = {f"gantt-{name}": 8 for name in SERVICES} | {"gantt": 1, "gantt-nova-config": 1, "gantt-example": 1}


@pytest.fixture
def built(tmp_path: Path) -> Distribution:
    """A distribution with a version, a changelog, programs and man pages only."""
    archives = Distribution(tmp_path / "gantt-1.2rc1.tar.gz", tmp_path / "gantt-1.2rc1-py3-none-any.whl")
    with zipfile.ZipFile(archives.wheel, "w") as wheel:
        wheel.writestr("gantt-1.2rc1.dist-info/METADATA", "Metadata-Version: 2.4\nName: gantt\nVersion: 1.2rc1\n\n")
        wheel.writestr(
            "gantt-1.2rc1.dist-info/entry_points.txt", "[console_scripts]\n" + "".join(map("{} = a:b\n".format, PAGES))
        )
        for program, section in PAGES.items():
            wheel.writestr(f"gantt-1.2rc1.data/data/share/man/man{section}/{program}.{section}", ".TH")
    with tarfile.open(archives.sdist, "w:gz") as sdist:
        sdist.addfile(tarfile.TarInfo("gantt-1.2rc1/CHANGELOG.rst"), io.BytesIO())
    return archives


@pytest.fixture
def debian(built: Distribution, tmp_path: Path) -> Path:
    debian_packages.prepare(tmp_path / "tree", built, revision=3, source=SOURCE)
    return tmp_path / "tree" / "debian"


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_every_service_and_no_other_has_a_package() -> None:
    units = {path.stem.rstrip("@") for path in (SOURCE / UNITS).glob("*.service")}
    packages = re.findall(r"^Package: (\S+)", (SOURCE / TEMPLATE / "control").read_text(), re.MULTILINE)

    assert {f"gantt-{name}" for name in SERVICES} == units
    assert set(packages) == units | {"gantt-common", "gantt-client", "gantt-doc"}


@pytest.mark.parametrize("kind", ["sysusers", "tmpfiles"])
def test_every_user_and_mode_is_in_one_package(debian: Path, kind: str) -> None:
    packaged = [row for path in debian.glob(f"gantt-*.{kind}") for row in rows(path.read_text())]

    assert sorted(packaged) == sorted(rows((SOURCE / UNITS / f"gantt.{kind}").read_text()))


@pytest.mark.parametrize("name", SERVICES)
def test_package_of_a_service_has_its_own_files(debian: Path, name: str) -> None:
    package = f"gantt-{name}"
    unit, conffile = (debian / f"{package}.install").read_text().splitlines()

    assert (debian.parent / unit.split()[0]).read_text() == (SOURCE / UNITS / unit.split()[0]).read_text()
    assert conffile == f"debian/conf/{package}.conf etc/gantt"
    assert (debian / "conf" / f"{package}.conf").is_file()
    assert {row.split()[1] for row in rows((debian / f"{package}.sysusers").read_text())} == {package}
    assert all(package in row.split()[1] for row in rows((debian / f"{package}.tmpfiles").read_text()))
    assert "#PACKAGE#" in (debian / f"{package}.postrm").read_text()


def test_man_page_is_in_the_package_of_its_program(debian: Path) -> None:
    pages = {path.stem: path.read_text().split() for path in debian.glob("*.manpages")}

    assert pages == {
        **{f"gantt-{name}": [f"share/man/man8/gantt-{name}.8"] for name in SERVICES},
        "gantt-nova-bridge": ["share/man/man1/gantt-nova-config.1", "share/man/man8/gantt-nova-bridge.8"],
        "gantt-client": ["share/man/man1/gantt.1"],
        "gantt-common": ["share/man/man1/gantt-example.1"],
    }


def test_program_without_a_man_page_stops_the_build(
    built: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Distribution, "documentation", {"share/man/man1/gantt.1"})

    with pytest.raises(PackagingError, match=r"there must be one man page of gantt-\S+, but there are \[\]"):
        debian_packages.prepare(tmp_path / "tree", built, revision=1, source=SOURCE)


def test_changelog_has_debians_version_and_the_commits_time(debian: Path) -> None:
    first, *_, last = (debian / "changelog").read_text().splitlines()

    assert first == "gantt (1.2~rc1-3) unstable; urgency=medium"
    assert re.fullmatch(r" -- gantt contributors <\S+>  \w{3}, \d{2} \w{3} \d{4} \d\d:\d\d:\d\d \+0000", last)


def test_service_without_a_line_is_an_error() -> None:
    with pytest.raises(PackagingError, match="no line of devstack/deploy/systemd is of gantt-guard"):
        debian_packages._lines('# users\nu gantt-scheduler - "gantt scheduler"\n', "gantt-guard")


def options(text: str) -> set[tuple[str, str]]:
    """Return (group, option) of each line of a file in which they are comments."""
    group, pairs = "", set()
    for line in text.splitlines():
        if header := re.fullmatch(r"#? ?\[(\S+)\]", line):
            group = header[1]
        elif option := re.match(r"# ?(\w+) =", line):
            pairs.add((group, option[1]))
    return pairs


@pytest.mark.parametrize("name", SERVICES)
def test_default_configuration_changes_nothing_and_names_options_that_exist(name: str) -> None:
    text = (SOURCE / TEMPLATE / "conf" / f"gantt-{name}.conf").read_text()

    assert rows(text) == []
    existing = options((SOURCE / debian_packages.SAMPLE).read_text())
    assert {pair for pair in options(text) if pair[0] != "keystone_authtoken"} <= existing
    assert options(text)
