# SPDX-License-Identifier: Apache-2.0
"""gantt-placement-shadow as a process."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.servers.ports import answers, free_port
from scheduler_svc.endpoints.placement.authentication import trust_tokens
from tests.functional.servers.waiting import wait_until
from tests.placement.client import PlacementClient
from tests.unit.scheduler_svc.fakes.placement import PlacementApi
from tests.unit.scheduler_svc.fakes.served import serve

SECONDS = 60
COMMAND = [sys.executable, "-m", "scheduler_svc.cmd.placement_shadow", "--config-file"]


@pytest.fixture
def ends() -> Iterator[list[tuple[PlacementApi, str]]]:
    """Two servers of the API, each with its URL."""
    with contextlib.ExitStack() as stack:
        apis = [PlacementApi(), PlacementApi()]
        yield [(api, serve(stack, trust_tokens(api.application))) for api in apis]


def write_conf(folder: Path, **options: object) -> str:
    path = folder / "shadow.conf"
    lines = [f"{name} = {value}\n" for name, value in options.items()]
    path.write_text("[placement_shadow]\n" + "".join(lines), encoding="utf-8")
    return str(path)


def test_process_serves_until_sigterm_and_leaves_both_ends_equal(
    ends: list[tuple[PlacementApi, str]], tmp_path: Path
) -> None:
    (placement, placement_url), (gantt, gantt_url) = ends
    port, log_path = free_port(), tmp_path / "log"
    conf = write_conf(tmp_path, port=port, placement_url=placement_url, gantt_url=gantt_url)
    with log_path.open("wb") as log:
        daemon = subprocess.Popen([*COMMAND, conf], stdout=log, stderr=log)
    try:
        wait_until(lambda: answers(port) or daemon.poll() is not None, "the start of gantt-placement-shadow")
        with contextlib.closing(PlacementClient(port)) as client:
            client.change("POST", "/resource_providers", {"name": "node", "uuid": "0" * 32})
            client.change("PUT", "/traits/CUSTOM_A")
            status, document = client.call("GET", "/traits?name=startswith:CUSTOM_")
        assert (status, document) == (200, {"traits": ["CUSTOM_A"]})
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(SECONDS) == 0, log_path.read_text()
    finally:
        daemon.kill()
        daemon.wait()
    for path in ("/resource_providers", "/traits?name=startswith:CUSTOM_"):
        assert placement.call("GET", path).json == gantt.call("GET", path).json
    assert len(gantt.call("GET", "/resource_providers").json["resource_providers"]) == 1
    assert "Traceback" not in log_path.read_text()


def test_missing_end_is_a_bad_configuration(tmp_path: Path) -> None:
    conf = write_conf(tmp_path, port=free_port(), placement_url="http://placement.example")
    result = subprocess.run([*COMMAND, conf], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode == 78
    assert "[placement_shadow] gantt_url is not set" in result.stderr
