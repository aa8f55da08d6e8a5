# SPDX-License-Identifier: Apache-2.0
"""Command lines that are answered from files."""

import pytest

from rpcapi.cli import static_output
from rpcapi.cli.completion import HELP_WIDTH


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["help"]])
def test_help_is_found(argv):
    assert static_output.find(argv).startswith("usage: gantt")


@pytest.mark.parametrize("argv", [["help", "server", "list"], ["server", "list", "--help"], ["server", "list", "-h"]])
def test_help_of_a_command_is_found_and_equals_the_parsers(argv, gantt, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(HELP_WIDTH + 2))
    assert static_output.find(argv) == gantt("server", "list", "--help").out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["complete"],
        ["complete", "fish"],
        ["complete", "bash", "-h"],
        ["help", "teapot"],
        ["server", "--help"],
        ["host", "show", "../h1", "--help"],
    ],
)
def test_other_command_lines_are_left_to_the_commands(argv):
    assert static_output.find(argv) is None
