# SPDX-License-Identifier: Apache-2.0
"""The console scripts with and without their extra installed."""

import functools
import importlib.metadata
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from rpcapi import scripts

ROOT = Path(__file__).parents[3]
SCRIPTS = {name: script for name, script in vars(scripts).items() if isinstance(script, functools.partial)}
# A name that is None in sys.modules cannot be imported.
SCRIPT = "import sys; {hide}; sys.argv[1:] = {arguments}; from rpcapi import scripts; sys.exit(scripts.{script}())"


def run(script, *hidden, arguments=("--help",)):
    hide = "; ".join(f"sys.modules[{name!r}] = None" for name in hidden) or "pass"
    code = SCRIPT.format(hide=hide, script=script, arguments=list(arguments))
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_without_its_extra_prints_what_to_install(script, monkeypatch, capsys):
    program, extra, package, _ = SCRIPTS[script].args
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))
    assert SCRIPTS[script]() == 1
    output = capsys.readouterr()
    assert (output.out, output.err) == (
        "",
        f"{program}: {package} is not installed; run: pip install 'gantt[{extra}]'\n",
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_returns_the_exit_code_of_its_program(script, monkeypatch):
    *_, target = SCRIPTS[script].args
    program = pkgutil.resolve_name(target)
    monkeypatch.setattr(sys.modules[program.__module__], program.__name__, lambda: 3)
    assert SCRIPTS[script]() == 3


def test_missing_module_of_gantt_raises():
    process = run("gantt", "rpcapi.admin.session", arguments=["server", "list"])
    assert process.returncode == 1
    assert "pip install" not in process.stderr and "rpcapi.admin.session" in process.stderr


@pytest.mark.parametrize(("script", "expected_output"), [("gantt", "server delete"), ("scheduler", "--config-file")])
def test_script_prints_its_help(script, expected_output):
    process = run(script)
    assert (process.returncode, process.stderr) == (0, "")
    assert expected_output in process.stdout


def test_scripts_are_packaged_and_their_extras_install_their_packages():
    packaged = {
        script.name: script.value
        for script in importlib.metadata.entry_points(group="console_scripts")
        if script.value.startswith("rpcapi.")
    }
    expected = {script.args[0]: f"rpcapi.scripts:{name}" for name, script in SCRIPTS.items()}
    assert packaged == expected, "reinstall gantt"
    requirements = importlib.metadata.requires("gantt")
    for _, extra, package, _ in (script.args for script in SCRIPTS.values()):
        distributions = importlib.metadata.packages_distributions()[package]
        assert any(
            line.lower().replace("-", ".").startswith(distributions[0].lower().replace("-", "."))
            and f'extra == "{extra}"' in line
            for line in requirements
        ), f"{extra} does not install {package}"
