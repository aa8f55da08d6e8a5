# SPDX-License-Identifier: Apache-2.0
"""The files of Placement's suite, from its wheel on the package index; nothing of them is part of this project."""

import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from types import ModuleType

import gabbi.driver
import yaml

VERSION = "16.0.0"
FOLDER = Path(__file__).resolve().parents[2] / ".tox" / f"placement-suite-{VERSION}"
GABBITS = "placement/tests/functional/gabbits/"


def fetch() -> Path:
    """Return the folder with the suite's files; they are downloaded at the first call."""
    if not FOLDER.is_dir():
        with tempfile.TemporaryDirectory(dir=_parent()) as folder:
            wheel = f"openstack-placement=={VERSION}"
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, wheel]
            subprocess.run(command, check=True, timeout=300)
            (archive,) = Path(folder).glob("*.whl")
            unpacked = Path(folder) / "suite"
            unpacked.mkdir()
            with zipfile.ZipFile(archive) as contents:
                for name in contents.namelist():
                    if name.startswith(GABBITS) and name.endswith(".yaml"):
                        (unpacked / Path(name).name).write_bytes(contents.read(name))
            unpacked.rename(FOLDER)
    return FOLDER


def _parent() -> Path:
    FOLDER.parent.mkdir(exist_ok=True)
    return FOLDER.parent


def load(name: str, port: int, fixtures: ModuleType) -> unittest.TestSuite:
    """Return the tests of one file, which run in its order against ``port`` of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(fetch() / f"{name}.yaml", folder)
        suite: unittest.TestSuite = gabbi.driver.build_tests(
            folder, unittest.defaultTestLoader, host="127.0.0.1", port=port, fixture_module=fixtures
        )
    return suite


def number_of_tests(name: str) -> int:
    """Return the number of tests that a file contains."""
    return len(yaml.safe_load((fetch() / f"{name}.yaml").read_text(encoding="utf-8"))["tests"])


def run(suite: unittest.TestSuite) -> tuple[int, dict[str, str]]:
    """Run a file's tests; return their number, and the error of each one that did not pass, by its name."""
    result = unittest.TestResult()
    suite.run(result)
    problems = [*result.failures, *result.errors, *result.skipped]
    return result.testsRun, {_name(test): text for test, text in problems}


def _name(test: unittest.TestCase) -> str:
    return str(getattr(test, "test_data", {}).get("name", test.id()))
