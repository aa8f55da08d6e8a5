# SPDX-License-Identifier: Apache-2.0
"""OpenStack's clients of Placement's API, which this project does not install: ``openstack`` and neutron-lib."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import documentation

PROGRAM = "GANTT_OPENSTACK"  # environment variable with the path of the program
PAGE = "docs/placement.md"
DOCUMENTED_PORT = "8778"
SECONDS = 60  # for one command: the client loads all its plug-ins first

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(900)]


def quick_start() -> list[tuple[str, str]]:
    """Return the commands of the page, each with its documented output."""
    (text,) = (block.text for block in documentation.blocks() if block.page == PAGE and "OS_AUTH_TYPE" in block.text)
    steps = text.replace("\\\n", "").split("$ ", 1)[1].split("\n$ ")
    return [(command, output) for command, _, output in (step.partition("\n") for step in steps)]


def words(output: str) -> list[str]:
    """Return what an output consists of; the members of JSON objects have no order."""
    return sorted(re.findall(r"[\w=/.-]+", output))


@pytest.mark.parametrize("placement_servers", ["redis"], indirect=True)
def test_documented_commands_print_what_the_page_says(placement_servers, tmp_path):
    port = placement_servers.port("default")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "PYTHON"))}
    environment["PATH"] = f"{Path(os.environ[PROGRAM]).parent}:{environment['PATH']}"
    environment["HOME"] = str(tmp_path)
    steps = quick_start()
    assert len([command for command, _ in steps if command.startswith("openstack ")]) >= 20

    for command, output in steps:
        if variables := re.fullmatch(r"export (.*)", command):
            pairs = (pair.partition("=") for pair in variables[1].split())
            environment |= {name: value.replace(DOCUMENTED_PORT, str(port)) for name, _, value in pairs}
            continue
        answer = subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert answer.returncode == 0, (command, answer.stderr)
        assert words(answer.stdout) == words(output), command


@pytest.mark.parametrize("placement_servers", ["redis"], indirect=True)
def test_client_of_neutron_lib_is_served(placement_servers):
    url = f"http://127.0.0.1:{placement_servers.port('default')}"
    python = Path(os.environ[PROGRAM]).with_name("python")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "PYTHON"))}
    command = [python, "-W", "ignore", Path(__file__).with_name("neutron_client.py"), url]

    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert answer.returncode == 0, answer.stderr
