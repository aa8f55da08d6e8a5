# SPDX-License-Identifier: Apache-2.0
"""``gantt-status upgrade check``."""

from rpcapi.cli import status


def test_unreadable_configuration_exits_255(capsys):
    assert status.main(["--config-file", "/nowhere/gantt.conf", "upgrade", "check"]) == 255
    assert "/nowhere/gantt.conf" in capsys.readouterr().err
