# SPDX-License-Identifier: Apache-2.0
"""The console scripts with and without their packages installed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# A name that is None in sys.modules cannot be imported.
SCRIPT = "import sys; {hide}; sys.argv[1:] = ['--help']; from {module} import {function} as main; sys.exit(main())"
# Script, entry point, a required package, and the extra that installs it.
SCRIPTS = [
    ("gantt", "rpcapi.cli.entry:main", "cliff", "shell"),
    ("gantt-status", "rpcapi.cli.entry:status", "oslo_upgradecheck", "status"),
    ("gantt-scheduler", "scheduler_svc.cmd.entry:main", "numpy", "scheduler"),
    ("gantt-conductor", "conductor.cmd.entry:main", "redis", "conductor"),
    ("gantt-compute", "compute_agent.cmd.entry:main", "oslo_log", "compute"),
    ("gantt-lab", "devstack.lab.entry:main", "cliff", "lab"),
]


def run(target, *hidden):
    module, _, function = target.partition(":")
    hide = "; ".join(f"sys.modules[{name!r}] = None" for name in hidden) or "pass"
    command = [sys.executable, "-W", "ignore", "-c", ""]
    command[-1] = SCRIPT.format(hide=hide, module=module, function=function)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)


@pytest.mark.parametrize(("script", "target", "package", "extra"), SCRIPTS, ids=[script[0] for script in SCRIPTS])
def test_script_without_its_packages_prints_the_extra_to_install(script, target, package, extra):
    process = run(target, package)
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr == f"{script}: {package} is not installed; run: pip install 'gantt[{extra}]'\n"


def test_missing_module_of_gantt_raises():
    process = run("rpcapi.cli.entry:main", "rpcapi.cli.session")
    assert process.returncode == 1
    assert "pip install" not in process.stderr and "rpcapi.cli.session" in process.stderr


@pytest.mark.parametrize(
    ("target", "expected_output"), [(SCRIPTS[0][1], "server delete"), (SCRIPTS[2][1], "--config-file")]
)
def test_script_with_its_packages_prints_its_help(target, expected_output):
    process = run(target)
    assert (process.returncode, process.stderr) == (0, "")
    assert expected_output in process.stdout


def test_scripts_and_extras_are_packaged():
    scripts = {
        entry_point.name: entry_point.value for entry_point in importlib.metadata.entry_points(group="console_scripts")
    }
    assert {script: target for script, target, _, _ in SCRIPTS}.items() <= scripts.items(), "reinstall gantt"
    assert {extra for *_, extra in SCRIPTS} <= set(importlib.metadata.metadata("gantt").get_all("Provides-Extra"))
