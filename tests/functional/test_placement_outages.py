# SPDX-License-Identifier: Apache-2.0
"""gantt-placement while its Redis is away or hangs."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi.daemon import options
from scheduler_svc import placement_service
from scheduler_svc.conf import placement_service as placement_conf
from scheduler_svc.placement_service import PlacementService
from tests.functional.servers.waiting import wait_until

SECONDS = 60.0
PROVIDER = {"name": "p", "uuid": "00000000-0000-0000-0000-000000000001"}
PATH = f"/resource_providers/{PROVIDER['uuid']}"
INVENTORIES = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}


@pytest.fixture
def server(make_redis: Any) -> RedisServer:
    redis: RedisServer = make_redis(appendonly="always")
    return redis


@pytest.fixture
def wait_seconds() -> float:
    return placement_service.STORE_SECONDS


@pytest.fixture
def port(
    server: RedisServer, conf: cfg.ConfigOpts, wait_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> Iterator[int]:
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
def test_requests_are_answered_503_until_the_store_is_back(port: int, server: RedisServer, outage: str) -> None:
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
def test_requests_wait_for_a_store_that_is_soon_back(port: int, server: RedisServer) -> None:
    server.stop()
    answers: list[int] = []
    writer = threading.Thread(target=lambda: answers.append(call(port, "PUT", f"{PATH}/inventories", INVENTORIES)[0]))
    writer.start()
    writer.join(2)
    server.start()
    writer.join(SECONDS)
    assert answers == [200]
