# SPDX-License-Identifier: Apache-2.0
"""The scripts of a fresh checkout: help and option checks need no installation and stop nothing."""

import os
import re
import subprocess
from functools import partial
from pathlib import Path

import pytest

from rpcapi import scripts

PROJECT = Path(__file__).parents[3]
SCRIPTS = PROJECT / "devstack"


@pytest.fixture
def run(tmp_path: Path):
    """Return a function that runs a script in a home with blanks, without an environment, and whose pip fails."""
    home = tmp_path / "my home"
    programs = home / "bin"
    programs.mkdir(parents=True)
    python = programs / "python3"
    python.write_text('#!/bin/sh\ncase "$*" in "-m venv"*|"-m pip"*) echo "$*" >> "$HOME/installed"; exit 1 ;; esac\n'
                      'exec /usr/bin/env -S PATH="$REAL_PATH" python3 "$@"\n')  # fmt: skip
    python.chmod(0o755)

    def run_script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "REAL_PATH": os.environ["PATH"],
            "PYTHON": str(python),
            "GANTT_VENV": str(home / "venv"),
            "GANTT_RUN": str(home / "run"),
        }
        command = [str(SCRIPTS / name), *arguments]
        return subprocess.run(
            command, env=environment, cwd="/", capture_output=True, text=True, timeout=60, check=False
        )

    run_script.installed = home / "installed"  # type: ignore[attr-defined]
    return run_script


@pytest.mark.parametrize(
    ("name", "text"),
    [("stack.sh", "--report-interval"), ("unstack.sh", "Usage: unstack.sh"), ("run_tests.sh", "--full")],
)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_needs_no_installation(run, name: str, text: str, option: str) -> None:
    done = run(name, option)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
    assert not run.installed.exists()


@pytest.mark.parametrize("name", ["stack.sh", "unstack.sh", "run_tests.sh"])
def test_unknown_argument_is_a_usage_error_before_anything_is_done(run, name: str) -> None:
    done = run(name, "--everything")
    assert done.returncode == 2, done.stderr
    assert "--everything" in done.stderr
    assert not run.installed.exists()


def test_invalid_option_is_reported_before_the_installation(run) -> None:
    done = run("stack.sh", "--computes", "0")
    assert (done.returncode, "'0' is not a whole number" in done.stderr) == (2, True)
    assert not run.installed.exists()


@pytest.mark.parametrize("command", [("stack.sh",), ("lab.sh", "decide")], ids=lambda command: command[0])
def test_installation_is_announced_with_its_size_and_paths_are_quoted(run, command: tuple[str, ...]) -> None:
    done = run(*command)
    assert run.installed.exists()
    announcement = done.stderr.partition("could not be created")[0]
    assert re.search(r"installing gantt and its requirements in .*/my\\ home/venv\s+\(about \d+ MB", announcement)


def test_unstack_without_an_installation_stops_nothing(run) -> None:
    done = run("unstack.sh")
    assert (done.returncode, "nothing to stop" in done.stderr) == (0, True)


def test_installation_of_the_units_covers_every_program_and_is_the_same_everywhere() -> None:
    files = ("devstack/deploy/systemd/install.sh", "docs/systemd.md")
    installed = {name: re.findall(r"pip install '\.\[([a-z,]+)\]'", (PROJECT / name).read_text()) for name in files}
    tested = re.findall(r'^EXTRAS = "(.+)"$', (PROJECT / "tests/functional/systemd/root.py").read_text(), re.MULTILINE)
    assert list(installed.values()) == [tested, tested]
    needed = {script.args[1] for script in vars(scripts).values() if isinstance(script, partial)}
    # Each service's extra contains `cli`.
    assert needed - {"cli"} == set(tested[0].split(","))
