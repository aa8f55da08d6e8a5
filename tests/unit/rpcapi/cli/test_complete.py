# SPDX-License-Identifier: Apache-2.0
"""``gantt complete``, and the completion by its scripts in both shells."""

import shutil
import subprocess

import pytest

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


@pytest.fixture(params=["bash", "zsh"])
def complete(request, gantt, tmp_path):
    """Return a function that returns the words that a shell offers for the last one."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(gantt("complete", shell).out)
    command = {"bash": ["bash", "--norc", "-c", BASH], "zsh": ["zsh", "-f", "-c", ZSH]}[shell]

    def run(words):
        process = subprocess.run(
            [*command, shell, str(script), *words], capture_output=True, text=True, check=True, timeout=30
        )
        assert process.stderr == ""
        return [line for line in process.stdout.splitlines() if line]

    return run


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
def test_shell_offers_commands_options_and_values(complete, line, offered):
    assert sorted(complete(line.split(" "))) == offered


def test_shell_offers_files_where_no_word_is_known(complete, request):
    offered = complete(["gantt", "decision", "export", "--output", ""])
    is_bash = "bash" in request.node.name
    assert offered == ([] if is_bash else ["files"])  # bash falls back to files by `complete -o default`


def test_unknown_shell_is_rejected(gantt):
    assert gantt("complete", "fish").code == 2
