# SPDX-License-Identifier: Apache-2.0
"""gantt-placement while its Redis or PostgreSQL is away or hangs."""

import http.client
import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi.daemon import options
from scheduler_svc.composition import placement_service
from scheduler_svc.composition.placement_service import PlacementService
from scheduler_svc.conf import placement_service as placement_conf
from tests.support.clusters.waiting import wait_until
from tests.support.private_servers.postgresql import PostgresqlServer
from tests.support.servers import missing

Server = RedisServer | PostgresqlServer

SECONDS = 60.0
PROVIDER = {"name": "p", "uuid": "00000000-0000-0000-0000-000000000001"}
PATH = f"/resource_providers/{PROVIDER['uuid']}"
INVENTORIES = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
HOLDING: dict[str, Any] = {
    "allocations": {PROVIDER["uuid"]: {"resources": {"VCPU": 1}}},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": None,
    "consumer_type": "INSTANCE",
}


@pytest.fixture(params=["redis", "postgresql"])
def server(request: pytest.FixtureRequest, make_redis: Any, run_folder: Path) -> Iterator[Server]:
    if request.param == "redis":
        yield make_redis(appendonly="always")
        return
    server = PostgresqlServer(run_folder)
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    yield server
    server.resume()
    server.kill()


@pytest.fixture
def wait_seconds() -> float:
    return placement_service.STORE_SECONDS


@pytest.fixture
def port(server: Server, conf: cfg.ConfigOpts, wait_seconds: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of an API with a provider."""
    monkeypatch.setattr(placement_service, "STORE_SECONDS", wait_seconds)
    placement_conf.register_opts(conf)
    options.register_opts(conf)
    port = free_port()
    conf.set_override("url", server.url(), group="store")
    conf.set_override("durability", "always", group="store")
    conf.set_override("port", port, group="placement")
    conf.set_override("auth_strategy", "noauth2", group="api")
    service = PlacementService(conf, 0)
    service.start()
    assert call(port, "POST", "/resource_providers", PROVIDER)[0] == 200
    yield port
    service.stop()
    service.wait()


def call(port: int, method: str, path: str, body: Any = None) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Return status, headers and body of an answer."""
    headers = {"x-auth-token": "admin", "openstack-api-version": "placement latest", "content-type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, response.headers, content


REQUESTS = [("GET", PATH, None), ("PUT", f"{PATH}/inventories", INVENTORIES), ("GET", "/healthz", None)]


def answers_together(port: int) -> dict[str, tuple[int, http.client.HTTPMessage, bytes]]:
    """Send all requests at a time; return their answers by method and path."""
    answers = {}

    def send(method: str, path: str, body: Any) -> None:
        answers[f"{method} {path}"] = call(port, method, path, body)

    threads = [threading.Thread(target=send, args=request) for request in REQUESTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(answers) == len(REQUESTS)
    return answers


@pytest.mark.parametrize("outage", ["stop", "pause"])
def test_requests_are_answered_503_until_the_store_is_back(port: int, server: Server, outage: str) -> None:
    getattr(server, outage)()
    for request, (status, headers, body) in answers_together(port).items():
        assert (status, headers["retry-after"]) == (503, "1"), (request, body)
        (error,) = json.loads(body)["errors"]
        assert error["code"] == "placement.undefined_code" and error["detail"]
    server.start() if outage == "stop" else server.resume()
    wait_until(lambda: call(port, "GET", "/healthz")[0] == 200, "the API after the outage")
    status, _, body = call(port, "GET", PATH)
    assert (status, json.loads(body)["name"]) == (200, "p")


@pytest.mark.parametrize("wait_seconds", [SECONDS])
def test_requests_wait_for_a_store_that_is_soon_back(port: int, server: Server) -> None:
    server.stop()
    answers: list[int] = []
    writer = threading.Thread(target=lambda: answers.append(call(port, "PUT", f"{PATH}/inventories", INVENTORIES)[0]))
    writer.start()
    writer.join(2)
    server.start()
    writer.join(SECONDS)
    assert answers == [200]


@pytest.mark.parametrize("wait_seconds", [0.5])
@pytest.mark.parametrize("outage", ["stop", "pause"])
def test_write_that_is_not_acknowledged_is_whole_or_not_at_all(port: int, server: Server, outage: str) -> None:
    assert call(port, "PUT", f"{PATH}/inventories", INVENTORIES)[0] == 200
    pairs = [tuple(str(uuid.uuid4()) for _ in range(2)) for _ in range(3)]
    # Given a pair of consumers that was written before the outage
    assert call(port, "POST", "/allocations", dict.fromkeys(pairs[0], HOLDING))[0] == 204
    getattr(server, outage)()
    # When it is to be replaced, and others are to be written, during the outage
    replaced = HOLDING | {"allocations": {PROVIDER["uuid"]: {"resources": {"VCPU": 2}}}, "consumer_generation": 1}
    for pair, part in zip(pairs, (replaced, HOLDING, HOLDING), strict=True):
        status, headers, body = call(port, "POST", "/allocations", dict.fromkeys(pair, part))
        assert (status, headers["retry-after"]) == (503, "1"), body
    server.start() if outage == "stop" else server.resume()
    wait_until(lambda: call(port, "GET", "/healthz")[0] == 200, "the API after the outage")
    # Then both of each pair hold the same, and the sum is that of what they hold
    amounts = [tuple(allocated_amount(port, consumer) for consumer in pair) for pair in pairs]
    assert amounts[0] in ((1, 1), (2, 2))
    assert set(amounts[1:]) <= {(0, 0), (1, 1)}
    usages = json.loads(call(port, "GET", f"{PATH}/usages")[2])["usages"]
    assert usages == {"VCPU": sum(map(sum, amounts))}


def allocated_amount(port: int, consumer: str) -> int:
    """Return the VCPUs that a consumer holds."""
    status, _, body = call(port, "GET", f"/allocations/{consumer}")
    assert status == 200
    return sum(part["resources"]["VCPU"] for part in json.loads(body)["allocations"].values())
