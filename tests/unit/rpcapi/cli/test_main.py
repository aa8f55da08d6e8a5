# SPDX-License-Identifier: Apache-2.0
"""The application: configuration, one-line errors, and imports."""

import subprocess
import sys

import pytest

from rpcapi.cli import commands

NO_BUS = "no transport_url is configured"


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_has_help(gantt, name):
    result = gantt("help", *name.split())
    assert result.code == 0
    assert result.out.startswith(f"usage: gantt {name}")


def test_dash_h_prints_the_help_of_a_command(gantt):
    assert "--flavor" in gantt("boot", "-h").out


def test_missing_and_unknown_command_print_help(gantt):
    assert "claim verify" in gantt().out
    assert gantt("server", "lst").code == 2


def test_help_imports_neither_the_bus_nor_the_objects():
    script = (
        "import sys; from rpcapi.cli.main import GanttApp; GanttApp().run(['help']); "
        "sys.exit(str([m for m in ('oslo_messaging', 'oslo_versionedobjects', 'tqdm') if m in sys.modules] or 0))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert run.stderr.strip() == "0"
    assert "server delete" in run.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = shell\n[rpc]\ncall_timeout = soon\n", "call_timeout"),
        ("[rpc\n", "Failed to parse"),
        ("[pci]\nalias = odd\n", "alias 'odd' is not valid JSON"),
        ("[DEFAULT]\n", NO_BUS),
        ("[DEFAULT]\ntransport_url = nonsense://\n", "unknown driver"),
        ("[DEFAULT]\ntransport_url = //user:s3cret@host\n", "transport_url is malformed"),
    ],
)
def test_bad_configuration_is_one_line(gantt, config_file, text, message):
    config_file.write_text(text)
    result = gantt("boot", "--flavor", "m1.tiny")
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert "s3cret" not in result.err


def test_unreadable_file_is_named(gantt):
    result = gantt("--config-file", "/nowhere/gantt.conf", "flavor", "list")
    assert result.err == "Bad configuration: configuration file /nowhere/gantt.conf is missing or unreadable\n"
