# SPDX-License-Identifier: Apache-2.0
"""The source archive and the wheel: their files, their metadata, and an installation without a network."""

import ast
import subprocess
import sys
from pathlib import Path

from devstack.packaging import checkout, distribution
from devstack.packaging.distribution import Distribution
from tests.functional.packaging.environments import CleanEnvironment

PROGRAMS = {
    "gantt",
    "gantt-compute",
    "gantt-conductor",
    "gantt-lab",
    "gantt-nova-bridge",
    "gantt-nova-config",
    "gantt-dashboard",
    "gantt-placement",
    "gantt-placement-import",
    "gantt-placement-shadow",
    "gantt-scheduler",
    "gantt-status",
}


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
    question = "from rpcapi.version import installed_version; print(installed_version())"
    assert environment.run("python", "-c", question).strip() == built.version
    # Answered from a file of the wheel, before anything is imported.
    assert "server list" in environment.run("gantt", "--help")
