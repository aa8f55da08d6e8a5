# SPDX-License-Identifier: Apache-2.0
"""The files of `gantt --help`, `gantt COMMAND --help` and `gantt complete`, and the completion in both shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from rpcapi.cli import completion, static_output


@pytest.fixture(scope="module")
def made_files():
    return completion.make_files()


def test_files_are_up_to_date_with_the_commands(made_files):
    files = {path.name: path.read_text() for path in Path(static_output.FOLDER).iterdir()}
    assert files == made_files, "run: python -m rpcapi.cli.completion, and remove the files of commands that are gone"


BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_gantt
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { true }
compadd() { shift; print -l -- ${(M)@:#${words[CURRENT]}*} }
_files() { print files }
source "$1"; shift
words=("$@"); CURRENT=$#
_gantt
"""


def complete(shell, words):
    """Return the words that a shell offers for the last one."""
    script = f"{static_output.FOLDER}/{static_output.SCRIPTS[shell]}"
    command = {"bash": ["bash", "--norc", "-c", BASH], "zsh": ["zsh", "-f", "-c", ZSH]}[shell]
    run = subprocess.run([*command, shell, script, *words], capture_output=True, text=True, check=True, timeout=30)
    assert run.stderr == ""
    return [line for line in run.stdout.splitlines() if line]


@pytest.fixture(params=["bash", "zsh"])
def shell(request):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gantt ser", ["server", "service"]),
        (
            "gantt server ",
            [
                *(
                    "adopt",
                    "boot",
                    "confirm",
                    "delete",
                    "evacuate",
                    "list",
                    "live-migrate",
                    "migrate",
                    "offload",
                    "reboot",
                ),
                *("rebuild", "resize", "revert", "shelve", "show", "start", "stop", "unshelve"),
            ],
        ),
        ("gantt server lis", ["list"]),
        ("gantt --project p server d", ["delete"]),
        ("gantt help server s", ["shelve", "show", "start", "stop"]),
        ("gantt boot --na", ["--name"]),
        ("gantt server list --st", ["--status"]),
        ("gantt server list -f ", ["csv", "json", "table", "value", "yaml"]),
        ("gantt server show --format s", ["shell"]),
        ("gantt complete ", ["bash", "zsh"]),
    ],
)
def test_shell_offers_commands_options_and_values(shell, line, offered):
    assert sorted(complete(shell, line.split(" "))) == offered


def test_shell_offers_files_where_no_word_is_known(shell):
    offered = complete(shell, ["gantt", "decision", "export", "--output", ""])
    assert offered == ([] if shell == "bash" else ["files"])  # bash falls back to files by `complete -o default`
