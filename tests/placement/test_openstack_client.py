# SPDX-License-Identifier: Apache-2.0
"""OpenStack's clients of Placement's API, which this project does not install."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import documentation
from tests.support.placement.openstack_client import PROGRAM, client_environment

PAGE = "docs/placement.md"
DOCUMENTED_PORT = "8778"
SECONDS = 60  # for one command: the client loads all its plug-ins first
TESTS_OF_OSC_PLACEMENT = 160
TESTS_SECONDS = 600  # for all of them
ROOT = Path(__file__).parents[2]

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
    environment = client_environment(tmp_path)
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
@pytest.mark.parametrize("program", ["neutron_client.py", "sdk_client.py"])
def test_clients_of_neutron_lib_and_openstacksdk_are_served(placement_servers, tmp_path, program):
    url = f"http://127.0.0.1:{placement_servers.port('default')}"
    python = Path(os.environ[PROGRAM]).with_name("python")
    environment = client_environment(tmp_path)
    command = [python, "-W", "ignore", Path(__file__).with_name(program), url]

    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("placement_servers", ["redis", "memory"], indirect=True)
def test_tests_of_osc_placement_pass(placement_servers, tmp_path):
    command = [
        Path(os.environ[PROGRAM]).with_name("python"),
        "-W",
        "ignore",
        "-m",
        "tests.placement.osc_placement_tests",
    ]
    command.append(str(placement_servers.port("default")))

    result = subprocess.run(
        command,
        cwd=ROOT,
        env=client_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=TESTS_SECONDS,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    (last_line,) = result.stdout.splitlines()[-1:]
    assert json.loads(last_line) == {"run": TESTS_OF_OSC_PLACEMENT, "skipped": 0, "failed": []}, result.stderr
