# SPDX-License-Identifier: Apache-2.0
"""The scripts' virtual environment: recreated only if there is no working one."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "devstack" / "environment.sh"
PYTHON = """#!/bin/sh
echo "$*" >> "{folder}/calls"
case "$*" in *--editable*) exit {code} ;; esac
"""


@pytest.fixture
def project(tmp_path):
    for name in ("setup.py", "pyproject.toml"):
        (tmp_path / name).write_text(name)
    return tmp_path


def make(project, code=0):
    """Run make_environment on an existing environment whose pip exits with ``code``; return the completed process."""
    python = project / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(PYTHON.format(folder=project, code=code))
    python.chmod(0o755)
    return run_script(project)


def run_script(project, **variables):
    command = f'. "{SCRIPT}"; make_environment "{project}" "{project}/venv"'
    return subprocess.run(
        ["bash", "-euc", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **variables},
    )


def test_working_environment_is_updated_in_place_once(project):
    (project / "venv" / "bin").mkdir(parents=True)
    (project / "venv" / "bin" / "daemon").write_text("runs")
    for _ in range(2):
        completed = make(project)
        assert completed.returncode == 0, completed.stderr
    lines = (project / "calls").read_text().splitlines()
    assert [line for line in lines if "install" in line] == [
        f"-m pip install --disable-pip-version-check --editable {project}[all]"
    ]
    assert (project / "venv" / "bin" / "daemon").exists()


def test_failed_update_keeps_the_environment_and_is_retried(project):
    completed = make(project, code=1)
    assert completed.returncode == 1
    assert "could not be created" in completed.stderr
    assert (project / "venv" / "bin" / "python").exists()
    assert make(project).returncode == 0
    assert (project / "calls").read_text().count("--editable") == 2


def test_file_that_points_to_another_environment_is_replaced(project):
    (project / "venv").write_text(".tox/py\n")
    python = project / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in "-m venv --clear "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" || exit 1 ;; esac\n'
    )
    python.chmod(0o755)
    completed = run_script(project, PYTHON=str(python))
    assert completed.returncode == 0, completed.stderr
    assert (project / "venv" / ".gantt-stamp").exists()
