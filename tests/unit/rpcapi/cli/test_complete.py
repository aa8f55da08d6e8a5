# SPDX-License-Identifier: Apache-2.0
"""``gantt complete``."""

import pytest

from rpcapi.cli import static_output


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_script_of_a_shell_is_printed(gantt, shell):
    result = gantt("complete", shell)
    assert (result.code, result.out) == (0, static_output.read(static_output.SCRIPTS[shell]))
    assert "_gantt" in result.out


def test_unknown_shell_is_rejected(gantt):
    assert gantt("complete", "fish").code == 2
