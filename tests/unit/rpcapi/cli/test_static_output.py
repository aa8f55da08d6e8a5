# SPDX-License-Identifier: Apache-2.0
"""Command lines that are answered from files."""

import pytest

from rpcapi.cli import static_output


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["help"]])
def test_help_is_found(argv):
    assert static_output.find(argv).startswith("usage: gantt")


@pytest.mark.parametrize(
    "argv", [[], ["help", "boot"], ["boot", "--help"], ["complete"], ["complete", "fish"], ["complete", "bash", "-h"]]
)
def test_other_command_lines_are_left_to_the_commands(argv):
    assert static_output.find(argv) is None
