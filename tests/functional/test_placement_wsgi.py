# SPDX-License-Identifier: Apache-2.0
"""gantt-placement's application in processes of other WSGI servers: wsgiref and gunicorn."""

import contextlib
import importlib.util
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from tests.support.clusters.waiting import wait_until
from tests.support.placement.client import PlacementClient

STOP_SECONDS = 60
WSGIREF = """
import sys
from wsgiref.simple_server import make_server
from scheduler_svc.cmd.placement_wsgi import make_application

make_server("127.0.0.1", int(sys.argv[2]), make_application([sys.argv[1]])).serve_forever()
"""
FACTORY = "scheduler_svc.cmd.placement_wsgi:make_application(['{}'])"


def command(server: str, conf: Path, port: int) -> list[str]:
    """Return the command line of a server of two processes, or of one where it has no more."""
    if server == "wsgiref":
        return [sys.executable, "-c", WSGIREF, str(conf), str(port)]
    options = ["--bind", f"127.0.0.1:{port}", "--workers", "2", "--threads", "2", "--log-level", "warning"]
    return [sys.executable, "-m", "gunicorn", *options, FACTORY.format(conf)]


@contextlib.contextmanager
def serving(server: str, folder: Path, store_url: str, partition: str) -> Iterator[int]:
    """Serve a partition by another server; yield its port."""
    port, conf, log_path = free_port(), folder / "placement.conf", folder / "server.log"
    conf.write_text(
        f"[rpc]\npartition = {partition}\n[store]\nurl = {store_url}\n[api]\nauth_strategy = noauth2\n",
        encoding="utf-8",
    )
    with log_path.open("wb") as log:
        process = subprocess.Popen(command(server, conf, port), stdout=log, stderr=log, cwd=folder)
    try:
        wait_until(lambda: process.poll() is not None or answers(port), "the start of the server")
        assert process.poll() is None, log_path.read_text()
        yield port
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
    assert "Worker failed" not in log_path.read_text()


def answers(port: int) -> bool:
    try:
        return PlacementClient(port).call("GET", "/healthz")[0] == 200
    except OSError:
        return False


@pytest.mark.parametrize("server", ["wsgiref", "gunicorn"])
def test_application_is_served_by_another_server(server: str, redis_server: RedisServer, run_folder: Path) -> None:
    if importlib.util.find_spec(server) is None:
        pytest.skip(f"{server} is not installed")
    provider, consumer = (str(uuid.uuid4()) for _ in range(2))
    with serving(server, run_folder, redis_server.url(), f"wsgi-{server}") as port:

        def call(method: str, path: str, body: object = None) -> tuple[int, object]:
            """Send a request by a connection of its own, so that both processes get some."""
            with contextlib.closing(PlacementClient(port)) as client:
                return client.call(method, path, body)

        assert call("POST", "/resource_providers", {"name": "p", "uuid": provider})[0] == 200
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
        assert call("PUT", f"/resource_providers/{provider}/inventories", body)[0] == 200
        for _ in range(8):
            answer: object = call("GET", "/allocation_candidates?resources=VCPU:4")[1]
            assert isinstance(answer, dict)
            assert provider in answer["provider_summaries"]
        holding = {
            "allocations": {provider: {"resources": {"VCPU": 4}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        assert call("PUT", f"/allocations/{consumer}", holding)[0] == 204
        for _ in range(8):  # what one process acknowledged, all know
            assert call("GET", "/allocation_candidates?resources=VCPU:1")[1] == {
                "allocation_requests": [],
                "provider_summaries": {},
            }
        status, refusal = call("PUT", f"/allocations/{uuid.uuid4()}", holding)
        assert status == 409
        assert isinstance(refusal, dict)
        assert refusal["errors"][0]["detail"]
        assert call("GET", "/no/such/path")[0] == 404


def test_wrong_configuration_is_one_line(run_folder: Path) -> None:
    conf = run_folder / "placement.conf"
    conf.write_text("[store]\nurl = nothing://\n", encoding="utf-8")
    done = subprocess.run(
        command("wsgiref", conf, free_port()), capture_output=True, text=True, timeout=60, check=False, cwd=run_folder
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("gantt-placement: ")
