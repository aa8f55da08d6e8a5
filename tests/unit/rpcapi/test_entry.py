# SPDX-License-Identifier: Apache-2.0
"""The console scripts where the library alone is installed, and where all is."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# A name that is None in sys.modules cannot be imported.
SCRIPT = "import sys; {hide}; sys.argv[1:] = ['--help']; from {module} import {function} as main; sys.exit(main())"
# The script, what runs it, a package that it cannot do without, and the extra that brings this.
SCRIPTS = [
    ("gantt", "rpcapi.shell.entry:main", "cliff", "shell"),
    ("gantt-status", "rpcapi.shell.entry:status", "oslo_upgradecheck", "status"),
    ("gantt-scheduler", "scheduler_svc.cmd.entry:main", "numpy", "scheduler"),
    ("gantt-conductor", "conductor.cmd.entry:main", "redis", "conductor"),
    ("gantt-compute", "compute_agent.cmd.entry:main", "oslo_log", "compute"),
    ("gantt-lab", "devstack.lab.entry:main", "cliff", "lab"),
]


def run(target, *hidden):
    module, _, function = target.partition(":")
    hide = "; ".join(f"sys.modules[{name!r}] = None" for name in hidden) or "pass"
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT.format(hide=hide, module=module, function=function)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)


@pytest.mark.parametrize(("script", "target", "package", "extra"), SCRIPTS, ids=[each[0] for each in SCRIPTS])
def test_without_its_packages_a_script_says_what_to_install(script, target, package, extra):
    done = run(target, package)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{script}: {package} is not installed; run: pip install 'gantt[{extra}]'\n"


def test_a_module_of_our_own_that_is_missing_is_no_matter_of_installing():
    done = run("rpcapi.shell.entry:main", "rpcapi.shell.session")
    assert done.returncode == 1
    assert "pip install" not in done.stderr and "rpcapi.shell.session" in done.stderr


@pytest.mark.parametrize(("target", "said"), [(SCRIPTS[0][1], "server delete"), (SCRIPTS[2][1], "--config-file")])
def test_with_them_it_is_the_command(target, said):
    done = run(target)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


def test_each_script_and_each_extra_is_one_that_is_packaged():
    scripts = {each.name: each.value for each in importlib.metadata.entry_points(group="console_scripts")}
    assert {script: target for script, target, _, _ in SCRIPTS}.items() <= scripts.items(), "install gantt anew"
    assert {extra for *_, extra in SCRIPTS} <= set(importlib.metadata.metadata("gantt").get_all("Provides-Extra"))
