# SPDX-License-Identifier: Apache-2.0
"""The command's frame: configuration, faults in one line, and what it imports."""

import socket
import subprocess
import sys

import pytest

from rpcapi.shell import main

NO_BUS = "no transport_url says where the cluster's bus is"


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_has_help(gantt, name):
    done = gantt("help", *name.split())
    assert done.code == 0
    assert done.out.startswith(f"usage: gantt {name}")


def test_dash_h_after_a_command_is_that_commands_help(gantt):
    assert "--flavor" in gantt("boot", "-h").out


def test_no_command_and_an_unknown_one_say_what_there_is(gantt):
    assert "claim verify" in gantt().out
    assert gantt("server", "lst").code == 2


def test_help_imports_neither_the_bus_nor_the_objects():
    script = (
        "import sys; from rpcapi.shell.main import GanttApp; GanttApp().run(['help']); "
        "sys.exit(str([m for m in ('oslo_messaging', 'oslo_versionedobjects', 'tqdm') if m in sys.modules] or 0))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert run.stderr.strip() == "0"
    assert "server delete" in run.stdout


def test_flavors_of_the_configuration_are_listed_with_the_built_in_ones(gantt, config_file):
    with config_file.open("a") as file:
        file.write("[flavor:gpu]\nvcpus = 8\nmemory_mb = 100\nextra_specs = trait:CUSTOM_GPU=required\n")
    rows = {row["name"]: row for row in gantt("flavor", "list", "-f", "json").json}
    assert rows["gpu"]["extra_specs"] == {"trait:CUSTOM_GPU": "required"}
    assert rows["m1.tiny"]["vcpus"] == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = shell\n[rpc]\ncall_timeout = soon\n", "call_timeout"),
        ("[rpc\n", "Failed to parse"),
        ("[flavor:odd]\nvcpus = 1\n", "[flavor:odd] lacks memory_mb"),
        ("[DEFAULT]\n", NO_BUS),
        ("[DEFAULT]\ntransport_url = nonsense://\n", "unknown driver"),
        ("[DEFAULT]\ntransport_url = //user:s3cret@host\n", "transport_url is malformed"),
    ],
)
def test_a_bad_configuration_is_one_line(gantt, config_file, text, sentence):
    config_file.write_text(text)
    done = gantt("boot", "--flavor", "m1.tiny")
    assert (done.code, done.out) == (1, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert "s3cret" not in done.err


def test_a_broker_that_is_not_there_is_told_at_once(gantt, config_file):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config_file.write_text(f"[DEFAULT]\ntransport_url = rabbit://user:secret@127.0.0.1:{port}/\n")
    done = gantt("server", "list")
    assert done.code == 1
    assert done.err == f"The message bus cannot be reached: 127.0.0.1:{port}: Connection refused\n"


def test_a_service_that_does_not_answer_is_one_line(cluster, gantt, config_file):
    cluster.scheduler.partitions = ["nobody"]
    config_file.write_text(
        "[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = shell\n[rpc]\npartition = nobody\ncall_timeout = 0.1\n"
    )
    done = gantt("claim", "verify")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("No answer came in time: is the cluster up")
    assert "Traceback" not in done.err


def test_a_bug_in_a_service_is_told_without_its_traceback_unless_asked(cluster, gantt):
    cluster.claims.claims["a"] = None  # what the double then does is a TypeError
    done = gantt("claim", "list")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "TypeError" in done.err
    assert "Traceback" in gantt("--debug", "claim", "list").err


def test_an_unreadable_file_is_named(gantt):
    done = gantt("--config-file", "/nowhere/gantt.conf", "flavor", "list")
    assert done.err == "Bad configuration: configuration file /nowhere/gantt.conf is missing or may not be read\n"


def test_quiet_leaves_only_the_answer(cluster, gantt):
    assert gantt("-q", "boot", "--flavor", "m1.tiny", "-f", "value", "-c", "status").err == ""
