# SPDX-License-Identifier: Apache-2.0
"""The source archive and the wheel: their files, their metadata, and an installation without a network."""

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from devstack.deploy.packaging import checkout, distribution, documentation
from devstack.deploy.packaging.distribution import Distribution
from tests.functional.packaging.environments import CleanEnvironment

PROGRAMS = {
    "gantt",
    "gantt-compute",
    "gantt-conductor",
    "gantt-nova-bridge",
    "gantt-nova-config",
    "gantt-dashboard",
    "gantt-placement",
    "gantt-placement-import",
    "gantt-placement-shadow",
    "gantt-scheduler",
    "gantt-status",
}

# Neither the lab, nor the private servers, nor Nova's cloud, nor the development cluster.
OF_DEVSTACK = {"__init__.py", "py.typed", "deploy"}
OF_DEPLOY = {"__init__.py", "etc", "monitoring", "systemd", "users"}

PAGE, MANUAL = f"{documentation.SITE}/index.html", f"{documentation.MAN}/man1/gantt.1"


def version_in_setup() -> str:
    """Return the version that the call of setup() in setup.py names."""
    tree = ast.parse((checkout.ROOT / "setup.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"]
    (version,) = [word.value.value for call in calls for word in call.keywords if word.arg == "version"]
    return version


def test_archives_have_exactly_the_tracked_files(built: Distribution, tracked: list[str]) -> None:
    assert distribution.problems(built, tracked) == []


def test_source_archive_has_the_changelog(built: Distribution) -> None:
    assert built.changelog == b"Changes\n=======\n"


def test_version_of_both_archives_is_that_of_setup(built: Distribution) -> None:
    version = version_in_setup()

    assert built.version == version
    assert built.wheel.name == f"gantt-{version}-py3-none-any.whl"
    assert built.sdist.name == f"gantt-{version}.tar.gz"


def test_metadata_is_complete(built: Distribution) -> None:
    metadata = built.metadata

    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# gantt\n")


def test_twine_finds_no_fault(built: Distribution) -> None:
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", built.sdist, built.wheel]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_wheel_installs_its_programs_without_a_network(built: Distribution, tmp_path: Path) -> None:
    environment = CleanEnvironment(tmp_path / "venv")
    environment.create()

    environment.pip("install", "--no-index", "--no-deps", built.wheel)

    installed = {path.name for path in (tmp_path / "venv/bin").glob("gantt*")}
    assert installed == PROGRAMS
    (folder,) = (tmp_path / "venv/lib").glob("python3*/site-packages")
    assert not (folder / "tests").exists()
    assert {path.name for path in (folder / "devstack").iterdir() if path.name != "__pycache__"} == OF_DEVSTACK
    assert {path.name for path in (folder / "devstack/deploy").iterdir() if path.name != "__pycache__"} == OF_DEPLOY
    question = "from rpcapi.version import installed_version; print(installed_version())"
    assert environment.run("python", "-c", question).strip() == built.version
    # Every program needs an extra, which this environment lacks.
    extras = "|".join(built.metadata.get_all("Provides-Extra", []))
    for program in PROGRAMS:
        advice = rf"(?m)^{program}: \w+ is not installed; run: pip install 'gantt\[({extras})\]'$"
        with pytest.raises(AssertionError, match=advice):
            environment.run(program, "--help")


def test_archives_of_a_checkout_have_no_documentation(built: Distribution) -> None:
    assert built.documentation == set()


def test_documentation_is_in_both_archives_and_is_installed_below_the_prefix(
    tracked: list[str], tmp_path: Path
) -> None:
    for name, text in ((PAGE, "<html>"), (MANUAL, ".TH GANTT 1")):
        (tmp_path / "build" / name).parent.mkdir(parents=True)
        (tmp_path / "build" / name).write_text(text)
    built = distribution.build(tmp_path / "dist", share=tmp_path / "build" / documentation.SHARE)
    environment = CleanEnvironment(tmp_path / "venv")
    environment.create()

    environment.pip("install", "--no-index", "--no-deps", built.wheel)

    assert built.documentation == {PAGE, MANUAL}
    assert distribution.problems(built, tracked) == []
    assert (tmp_path / "venv" / PAGE).read_text() == "<html>"
    assert (tmp_path / "venv" / MANUAL).read_text() == ".TH GANTT 1"


@pytest.mark.packages
@pytest.mark.timeout(1800)
def test_release_has_every_page_and_a_man_page_of_each_program(release: Distribution, tracked: list[str]) -> None:
    assert distribution.problems(release, tracked) == []
    assert documentation.problems(release.documentation, tracked, release.programs) == []


@pytest.mark.packages
@pytest.mark.timeout(1800)
def test_every_diagram_is_drawn_in_its_page(release: Distribution, tracked: list[str]) -> None:
    texts = {name: (checkout.ROOT / name).read_text() for name in tracked if re.match(r"docs/[\w-]+\.md", name)}
    diagrams = {Path(name).stem: text.count("```mermaid\n") for name, text in texts.items() if "```mermaid\n" in text}
    assert {"architecture", "claims"} <= diagrams.keys()

    with zipfile.ZipFile(release.wheel) as wheel:
        data = f"gantt-{release.version}.data/data/{documentation.SITE}"
        counts = {name: wheel.read(f"{data}/{name}.html").decode().count('<svg id="merman"') for name in diagrams}

    assert counts == diagrams


@pytest.mark.packages
@pytest.mark.timeout(1800)
def test_documentation_of_one_commit_is_always_the_same(release: Distribution, tmp_path: Path) -> None:
    share = documentation.build(tmp_path, release.version)

    again = distribution.build(tmp_path / "dist", share=share)

    with zipfile.ZipFile(release.wheel) as first, zipfile.ZipFile(again.wheel) as second:
        sums = [{item.filename: item.CRC for item in wheel.infolist()} for wheel in (first, second)]
    assert sums[0] == sums[1]
