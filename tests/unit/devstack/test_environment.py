# SPDX-License-Identifier: Apache-2.0
"""The virtual environment that the scripts make: anew only where there is none that works."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "devstack" / "environment.sh"
PYTHON = """#!/bin/sh
echo "$*" >> "{folder}/asked"
case "$*" in *--editable*) exit {code} ;; esac
"""


@pytest.fixture
def project(tmp_path):
    for name in ("setup.py", "pyproject.toml"):
        (tmp_path / name).write_text(name)
    return tmp_path


def make(project, code=0):
    """Make the environment in which a Python was before, whose pip ends with that code; return what was said."""
    python = project / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(PYTHON.format(folder=project, code=code))
    python.chmod(0o755)
    command = f'. "{SCRIPT}"; make_environment "{project}" "{project}/venv"'
    return subprocess.run(["bash", "-euc", command], capture_output=True, text=True, timeout=60, check=False)


def test_one_that_works_is_brought_up_to_date_once_and_stays(project):
    (project / "venv" / "bin").mkdir(parents=True)
    (project / "venv" / "bin" / "daemon").write_text("runs")
    for _ in range(2):
        done = make(project)
        assert done.returncode == 0, done.stderr
    asked = (project / "asked").read_text().splitlines()
    assert [line for line in asked if "install" in line] == [
        f"-m pip install --disable-pip-version-check --editable {project}[all]"
    ]
    assert (project / "venv" / "bin" / "daemon").exists()


def test_one_that_cannot_be_brought_up_to_date_stays_and_is_tried_again(project):
    done = make(project, code=1)
    assert done.returncode == 1
    assert "could not be made" in done.stderr
    assert (project / "venv" / "bin" / "python").exists()
    assert make(project).returncode == 0
    assert (project / "asked").read_text().count("--editable") == 2
