# SPDX-License-Identifier: Apache-2.0
"""Source archive and wheel of gantt."""

import configparser
import email
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from email.message import Message
from pathlib import Path
from typing import NamedTuple

from devstack.deploy.packaging import checkout, documentation
from devstack.deploy.packaging.programs import PackagingError, run

# Parts of the wheel. From devstack it has only what deployments need; the rest of devstack runs from a checkout.
PACKAGES = ("compute_agent/", "conductor/", "rpcapi/", "scheduler_svc/")
OF_DEVSTACK = (
    *("devstack/__init__.py", "devstack/py.typed"),
    *(f"devstack/deploy/{name}" for name in ("__init__.py", "etc/", "systemd/", "users/")),
    *(f"devstack/deploy/monitoring/{name}" for name in ("alerts", "dashboard.json")),
)
NOT_IN_SDIST = "."  # hidden files and folders
CHANGELOG = "CHANGELOG.rst"
DATA = ".data/data/"  # installed below the prefix, for example a virtual environment
GENERATED_IN_SDIST = ("gantt.egg-info/", CHANGELOG, "PKG-INFO", "setup.cfg", f"{documentation.SHARE}/")


class Distribution(NamedTuple):
    sdist: Path
    wheel: Path

    @property
    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            return email.message_from_bytes(archive.read(name))

    @property
    def version(self) -> str:
        return str(self.metadata["Version"])

    @property
    def changelog(self) -> bytes:
        with tarfile.open(self.sdist) as archive:
            try:
                file = archive.extractfile(f"gantt-{self.version}/{CHANGELOG}")
            except KeyError:
                file = None
            if file is None:
                raise PackagingError(f"{self.sdist.name} has no {CHANGELOG}: build it with its changelog")
            return file.read()

    @property
    def programs(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
            entries = configparser.RawConfigParser(delimiters=("=",))
            entries.read_string(archive.read(name).decode())
            return set(entries["console_scripts"])

    @property
    def documentation(self) -> set[str]:
        """Paths of the site's files and the man pages in the wheel, relative to the installation prefix."""
        with zipfile.ZipFile(self.wheel) as archive:
            parts = [name.partition(DATA) for name in archive.namelist()]
        return {path for _, separator, path in parts if separator and path.startswith(f"{documentation.SHARE}/")}


def build(
    folder: Path, source: Path = checkout.ROOT, changelog: str | None = None, share: Path | None = None
) -> Distribution:
    """Build a checkout's source archive and wheel reproducibly in ``folder``.

    ``changelog`` is the text of CHANGELOG.rst; ``share`` is the result of `documentation.build`. Both are optional.
    """
    with tempfile.TemporaryDirectory() as parent:
        tree = Path(parent) / "gantt"
        checkout.export(tree, source)
        if changelog is not None:
            (tree / CHANGELOG).write_text(changelog)
        if share is not None:
            shutil.copytree(share, tree / documentation.SHARE)
        run(
            *(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder.resolve(), tree),
            env={"SOURCE_DATE_EPOCH": checkout.commit_time(source)},
        )
    return find(folder)


def find(folder: Path) -> Distribution:
    sdists, wheels = [*folder.glob("gantt-*.tar.gz")], [*folder.glob("gantt-*.whl")]
    if len(sdists) != 1 or len(wheels) != 1:
        names = sorted(path.name for path in (*sdists, *wheels))
        raise PackagingError(f"{folder} must contain one source archive and one wheel, but contains {names}")
    return Distribution(sdists[0], wheels[0])


def problems(distribution: Distribution, tracked: Iterable[str]) -> list[str]:
    """Return one line per missing or unexpected file of the distribution; documentation is not checked."""
    tracked = set(tracked)
    packaged = {name for name in tracked if name.startswith((*PACKAGES, *OF_DEVSTACK))}
    with zipfile.ZipFile(distribution.wheel) as wheel:
        in_wheel = {name for name in wheel.namelist() if ".dist-info/" not in name and DATA not in name}
    with tarfile.open(distribution.sdist) as sdist:
        members = [member for member in sdist.getmembers() if not member.isdir()]
    unusual = [f"{member.name} in the source archive is no ordinary file" for member in members if not member.isfile()]
    in_sdist = {member.name.partition("/")[2] for member in members}
    return [
        *_differences("the wheel", in_wheel, packaged),
        *_differences(
            "the source archive",
            {name for name in in_sdist if not name.startswith(GENERATED_IN_SDIST)},
            {name for name in tracked if not name.startswith(NOT_IN_SDIST)},
        ),
        *unusual,
    ]


def _differences(archive: str, present: set[str], expected: set[str]) -> list[str]:
    missing = [f"{name} is missing from {archive}" for name in sorted(expected - present)]
    return missing + [f"{name} has no place in {archive}" for name in sorted(present - expected)]
