# SPDX-License-Identifier: Apache-2.0
"""A query for candidates that explodes, at a real gantt-placement of one process, with real time."""

import http.client
import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.placement.client import PlacementClient
from tests.support.placement.servers import Deployment, Servers

SECONDS = 3.0  # [placement] allocation_candidates_timeout
HOSTS, DEVICES, GROUPS = 30, 8, 8  # more than a million candidates: 30 times 8 factorial
MOST = 1_000_000
CLASS = "CUSTOM_DEVICE"
OPTIONS = {"placement": {"allocation_candidates_timeout": str(SECONDS), "max_allocation_candidates": str(MOST)}}
CLIENT_SECONDS = 300


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of an API with hosts of eight devices each."""
    with Servers(Deployment("memory", 1), "").running(OPTIONS) as port:
        client = PlacementClient(port)
        client.change("PUT", f"/resource_classes/{CLASS}")
        for number in range(HOSTS):
            host = make(client, f"host{number}", None)
            for device in range(DEVICES):
                make(client, f"host{number} device{device}", host)
        client.close()
        yield port


def make(client: PlacementClient, name: str, parent: str | None) -> str:
    provider = str(uuid.uuid4())
    body = {"name": name, "uuid": provider} | ({} if parent is None else {"parent_provider_uuid": parent})
    client.change("POST", "/resource_providers", body)
    inventories = {CLASS if parent else "VCPU": {"total": 1}}
    body = {"resource_provider_generation": 0, "inventories": inventories}
    client.change("PUT", f"/resource_providers/{provider}/inventories", body)
    return provider


class Query(threading.Thread):
    """Sends a query that explodes; ``status``, ``headers`` and ``document`` are of its answer."""

    def __init__(self, port: int, limit: int | None) -> None:
        super().__init__()
        groups = "&".join(f"resources{number}={CLASS}:1" for number in range(GROUPS))
        self._path = f"/allocation_candidates?{groups}&group_policy=isolate" + (f"&limit={limit}" if limit else "")
        self._port = port
        self.status = 0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=CLIENT_SECONDS)
        headers = {"x-auth-token": "admin", "openstack-api-version": "placement latest"}
        connection.request("GET", self._path, headers=headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        self.headers, self.document = response.headers, json.loads(content)
        self.status = response.status


def run_beside_others(port: int, query: Query) -> int:
    """Send a query; return how many other requests were answered before it was."""
    client, answered = PlacementClient(port), 0
    query.start()
    while query.is_alive():
        status, _ = client.call("GET", "/resource_providers?name=host0")
        assert status == 200
        answered += query.is_alive()
    query.join()
    client.close()
    return answered


def test_query_without_a_limit_is_answered_503_and_others_meanwhile(port: int) -> None:
    query = Query(port, None)
    answered = run_beside_others(port, query)
    error: Any = query.document["errors"][0]
    assert (query.status, query.headers["retry-after"]) == (503, "1")
    assert f"within {SECONDS:g} s" in error["detail"]
    assert answered >= 1


def test_query_with_a_limit_gets_what_was_found_and_others_are_answered_meanwhile(port: int) -> None:
    query = Query(port, MOST)
    answered = run_beside_others(port, query)
    assert query.status == 200
    requests, summaries = query.document["allocation_requests"], query.document["provider_summaries"]
    assert 0 < len(requests) < MOST
    used = {provider for request in requests for provider in request["allocations"]}
    assert all(len(request["allocations"]) == GROUPS for request in requests)
    assert used <= summaries.keys()
    assert answered >= 1


def test_process_serves_queries_afterwards(port: int) -> None:
    query = Query(port, 5)
    query.start()
    query.join()
    assert (query.status, len(query.document["allocation_requests"])) == (200, 5)
