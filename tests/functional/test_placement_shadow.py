# SPDX-License-Identifier: Apache-2.0
"""gantt-placement-shadow as a process."""

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.servers.ports import answers, free_port
from scheduler_svc.placement.http.authentication import Application, trust_tokens
from scheduler_svc.store.sql.store import SqlStore
from tests.support.clusters.waiting import wait_until
from tests.support.placement.client import PlacementClient
from tests.support.scheduler.placement import NAMESPACES, PlacementApi
from tests.support.scheduler.served import serve

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


class Gate:
    """A WSGI application that answers 503 for one that is closed off, after it counted the request."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self.is_open = True
        self.refused = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if self.is_open:
            return self._application(environ, start_response)
        self.refused += 1
        start_response("503 Service Unavailable", [("content-type", "application/json"), ("content-length", "2")])
        return [b"{}"]


def verification(placement_url: str, gantt_conf: str, *arguments: str) -> tuple[int, str]:
    """Return the exit status and the output of gantt-placement-import."""
    command = [sys.executable, "-W", "ignore", "-m", "scheduler_svc.cmd.placement_import", placement_url]
    command += ["--config-file", gantt_conf, *arguments]
    environment = {**os.environ, "OS_TOKEN": "admin"}
    result = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
    )
    return result.returncode, result.stdout + result.stderr


def test_verification_names_what_a_killed_shadow_did_not_carry(tmp_path: Path) -> None:
    store_url = f"sqlite:///{tmp_path / 'gantt.sqlite'}"
    gantt_conf = tmp_path / "gantt.conf"
    gantt_conf.write_text(f"[rpc]\npartition = p1\n[store]\nurl = {store_url}\n", encoding="utf-8")
    port, log_path = free_port(), tmp_path / "log"
    with contextlib.ExitStack() as stack:
        # Given a shadow that carried some writes
        store = stack.enter_context(contextlib.closing(SqlStore(store_url, "p1", namespaces=NAMESPACES)))
        gate = Gate(trust_tokens(PlacementApi(store).application))
        placement_url = serve(stack, trust_tokens(PlacementApi().application))
        conf = write_conf(tmp_path, port=port, placement_url=placement_url, gantt_url=serve(stack, gate))
        log = stack.enter_context(log_path.open("wb"))
        daemon = stack.enter_context(subprocess.Popen([*COMMAND, conf], stdout=log, stderr=log, start_new_session=True))
        stack.callback(lambda: kill_group(daemon))
        wait_until(lambda: answers(port) or daemon.poll() is not None, "the start of gantt-placement-shadow")
        client = stack.enter_context(contextlib.closing(PlacementClient(port)))
        client.change("POST", "/resource_providers", {"name": "carried", "uuid": "0" * 32})
        wait_until(lambda: verification(placement_url, str(gantt_conf), "--verify")[0] == 0, "the carried write")
        # When it is killed while acknowledged writes wait for gantt
        gate.is_open = False
        for number in (1, 2):
            client.change("POST", "/resource_providers", {"name": f"lost-{number}", "uuid": str(number) * 32})
        client.change("PUT", "/traits/CUSTOM_LOST")
        wait_until(lambda: gate.refused > 0, "an attempt to carry the writes")
        kill_group(daemon)
        gate.is_open = True
        # Then the verification names them, and an import carries them
        status, output = verification(placement_url, str(gantt_conf), "--verify")
        assert status == 1, output
        for number in (1, 2):
            assert f"provider {uuid.UUID(str(number) * 32)} is missing" in output
        assert "trait CUSTOM_LOST is missing" in output
        assert str(uuid.UUID("0" * 32)) not in output
        assert verification(placement_url, str(gantt_conf), "--overwrite")[0] == 0
        assert verification(placement_url, str(gantt_conf), "--verify")[0] == 0


def kill_group(daemon: "subprocess.Popen[bytes]") -> None:
    """Kill the shadow with its workers."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait(SECONDS)


def test_missing_end_is_a_bad_configuration(tmp_path: Path) -> None:
    conf = write_conf(tmp_path, port=free_port(), placement_url="http://placement.example")
    result = subprocess.run([*COMMAND, conf], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode == 78
    assert "[placement_shadow] gantt_url is not set" in result.stderr
