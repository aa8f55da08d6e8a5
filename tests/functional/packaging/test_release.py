# SPDX-License-Identifier: Apache-2.0
"""The release check list on a clone: what it builds, and what stops it."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from devstack.deploy.packaging import checkout, distribution, documentation, lock
from devstack.deploy.packaging.programs import run
from tests.functional.packaging.conftest import need_checkout

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of this repository at its present commit."""
    need_checkout()
    run("git", "clone", "--quiet", "--no-local", checkout.ROOT, tmp_path / "clone")
    return tmp_path / "clone"


def release(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devstack.deploy.packaging.release", "--skip", "tests", *arguments],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1700,
    )


def test_release_has_archives_bill_of_materials_and_checksums(clone: Path) -> None:
    done = release(clone)

    assert done.returncode == 0, done.stdout + done.stderr
    steps = [line.split()[:2] for line in done.stdout.splitlines()[:-1]]
    assert ["skipped", "tests:"] in steps
    assert {state for state, _ in steps} == {"ok", "skipped"}
    assert done.stdout.splitlines()[-1] == "This is no release: tests skipped."
    version = next(line.split()[2] for line in done.stdout.splitlines() if " version: " in line).rstrip(",")
    folder = clone / "dist"
    names = {f"gantt-{version}.tar.gz", f"gantt-{version}-py3-none-any.whl", f"gantt-{version}.cdx.json"}
    names |= {f"gantt-{version}.tgz"}
    assert {path.name for path in folder.iterdir()} == names | {"SHA256SUMS"}
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    check_bill_of_materials(json.loads((folder / f"gantt-{version}.cdx.json").read_text()), version)
    with tarfile.open(folder / f"gantt-{version}.tar.gz") as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
        changes = archive.extractfile(f"gantt-{version}/CHANGELOG.rst")
        assert changes is not None
        lines = changes.read().decode().splitlines()
    assert version in lines, "the notes since the last tag are of this version"
    assert "New Features" in lines
    assert documentation.pages(checkout.tracked_files()) - members == set()
    assert distribution.find(folder).documentation <= members


def check_bill_of_materials(document: dict, version: str) -> None:
    """Its subject is this version, which depends on the lock's pins: they are the components, with their versions."""
    subject = document["metadata"]["component"]
    assert (subject["name"], subject["version"]) == ("gantt", version)
    pins = {(pin.name, pin.version) for pin in lock.read((checkout.ROOT / lock.PATH).read_text())}
    components = {
        (canonicalize_name(item["name"]), Version(item["version"])): item["purl"] for item in document["components"]
    }
    of_the_environment = {item for item in components if item[0] in ("pip", "setuptools")}
    assert components.keys() - of_the_environment <= pins
    assert {"oslo-messaging", "redis", "numpy"} <= {name for name, _ in components}
    assert all(purl.startswith("pkg:pypi/") for purl in components.values())
    direct = next(item["dependsOn"] for item in document["dependencies"] if item["ref"] == subject["bom-ref"])
    assert {"oslo.messaging", "redis", "numpy"} <= {name.partition("==")[0] for name in direct}


def test_uncommitted_file_stops_the_release_before_anything_is_built(clone: Path) -> None:
    (clone / "rpcapi" / "forgotten.py").touch()

    done = release(clone)

    assert done.returncode == 1
    assert "FAILED   clean: every file is committed\n1 files are not committed, the first is rpcapi/forgotten.py\n" in (
        done.stdout
    )
    assert not any((clone / "dist").iterdir())
