# SPDX-License-Identifier: Apache-2.0
"""Copies from OpenStack Placement to gantt and back, on databases with the schema that Placement makes."""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from scheduler_svc.cmd.placement_import import main as run
from scheduler_svc.databases import DRIVERS
from scheduler_svc.store.sql.store import SqlStore
from tests.placement.clouds.seeding import seed
from tests.placement.clouds.storage import SHARED_STORAGE
from tests.placement.real_placement import RealPlacement
from tests.support.placement.client import PlacementClient
from tests.support.scheduler.placement import LATEST, NAMESPACES, PlacementApi

REVISIONS = ("422ece571366", "head")  # the first one with consumer types, and the last one
PLACEMENT_DRIVERS = {"postgresql": "postgresql+psycopg2", "mariadb": "mysql+pymysql"}
HOST, DISK = "CN2_UUID", "SS_UUID"
CANDIDATES = "/allocation_candidates?resources=VCPU:1,DISK_GB:10&required=HW_CPU_X86_SSE"

pytestmark = [pytest.mark.placement, pytest.mark.timeout(1800)]


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The URLs of two empty databases."""
    names = [f"placement_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    if request.param == "sqlite":
        yield [f"sqlite:///{tmp_path / name}.sqlite" for name in names]
        return
    url = make_url(request.getfixturevalue(f"{request.param}_server").url())
    charset = " CHARACTER SET utf8mb4" if request.param == "mariadb" else ""
    own_driver = url.set(drivername=DRIVERS[url.get_backend_name()])
    engine = create_engine(own_driver, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in names:
            connection.exec_driver_sql(f"CREATE DATABASE {name}{charset}")
    parts = [url.set(drivername=PLACEMENT_DRIVERS[request.param], database=name) for name in names]
    yield [part.render_as_string(hide_password=False) for part in parts]
    with engine.connect() as connection:
        for name in names:
            connection.exec_driver_sql(f"DROP DATABASE {name}")


@pytest.fixture
def gantt_conf(tmp_path: Path) -> str:
    path = tmp_path / "gantt.conf"
    path.write_text(f"[rpc]\npartition = p1\n[store]\nurl = sqlite:///{tmp_path / 'gantt.sqlite'}\n", encoding="utf-8")
    return str(path)


@contextlib.contextmanager
def client_of(placement: RealPlacement) -> Iterator[PlacementClient]:
    with placement.serving() as port, contextlib.closing(PlacementClient(port)) as client:
        yield client


class StoreClient(PlacementClient):
    """A client of our API over a store, without a server."""

    def __init__(self, store: Any) -> None:
        self._api = PlacementApi(store)

    def call(self, method: str, path: str, body: Any = None, microversion: str = LATEST) -> tuple[int, Any]:
        answer = self._api.call(method, path, body, version=microversion)
        return answer.status, answer.json if answer.body else None


def fill(client: PlacementClient) -> str:
    """Create trees, shared storage, custom names and consumers; return one of these."""
    seed(client, SHARED_STORAGE)
    for path in ("/traits/CUSTOM_UNUSED", "/traits/CUSTOM_FAST", "/resource_classes/CUSTOM_SLOT"):
        client.change("PUT", path)
    host = f"/resource_providers/{os.environ[HOST]}"
    generation = client.call("GET", host)[1]["generation"]
    body = {"resource_provider_generation": generation, "traits": ["CUSTOM_FAST", "HW_CPU_X86_SSE"]}
    client.change("PUT", f"{host}/traits", body)
    consumers = [str(uuid.uuid4()) for _ in range(3)]
    for number, consumer in enumerate(consumers):
        resources = {os.environ[HOST]: {"VCPU": 2, "MEMORY_MB": 512}, os.environ[DISK]: {"DISK_GB": 10}}
        client.change("PUT", f"/allocations/{consumer}", allocations_body(resources, None, f"TYPE_{number % 2}"))
    client.change("PUT", f"/allocations/{consumers[0]}", allocations_body({os.environ[HOST]: {"VCPU": 1}}, 1, "TYPE_1"))
    client.change("DELETE", f"/allocations/{consumers[1]}")
    return consumers[0]


def allocations_body(resources: dict[str, dict[str, int]], generation: int | None, consumer_type: str) -> Any:
    return {
        "allocations": {provider: {"resources": amounts} for provider, amounts in resources.items()},
        "project_id": "project \N{SNOWMAN}",
        "user_id": "user",
        "consumer_generation": generation,
        "consumer_type": consumer_type,
    }


def answers_of(client: PlacementClient) -> dict[str, Any]:
    """Return what Placement answers to reads of all that it has, by path."""
    answers: dict[str, Any] = {}

    def read(path: str) -> Any:
        status, document = client.call("GET", path)
        assert status == 200, (path, document)
        answers[path] = in_order(document)
        return answers[path]

    consumers: set[str] = set()
    for provider in read("/resource_providers")["resource_providers"]:
        path = f"/resource_providers/{provider['uuid']}"
        for part in ("inventories", "usages", "traits", "aggregates"):
            read(f"{path}/{part}")
        consumers |= read(f"{path}/allocations")["allocations"].keys()
    for path in (*(f"/allocations/{consumer}" for consumer in consumers), "/traits", "/resource_classes"):
        read(path)
    assert read(CANDIDATES)["allocation_requests"]
    return answers


def in_order(document: Any) -> Any:
    """Return a document with all lists sorted: Placement promises no order."""
    if isinstance(document, dict):
        return {key: in_order(value) for key, value in document.items()}
    return sorted(map(in_order, document), key=json.dumps) if isinstance(document, list) else document


@pytest.mark.parametrize("revision", REVISIONS)
def test_placement_answers_as_before_after_there_and_back(
    urls: list[str], revision: str, gantt_conf: str, tmp_path: Path
) -> None:
    former, latter = (RealPlacement(tmp_path / name, url) for name, url in zip(("former", "latter"), urls, strict=True))
    gantt = ("--config-file", gantt_conf)
    # Given a Placement that clients filled, all of which gantt takes over
    former.sync(revision)
    with mock.patch.dict(os.environ), client_of(former) as client:
        consumer = fill(client)
        host = os.environ[HOST]
        before = answers_of(client)
    assert run([str(former.configuration), *gantt]) == 0
    assert run([str(former.configuration), "--verify", *gantt]) == 0
    # When it is exported to the empty database of another Placement
    latter.sync("head")
    assert run([urls[1], "--export", *gantt]) == 0
    assert run([urls[1], "--verify", *gantt]) == 0
    # Then that answers the same, and accepts the generations that clients hold
    with client_of(latter) as client:
        after = answers_of(client)
        assert after.keys() == before.keys()
        assert {path: answer for path, answer in after.items() if answer != before[path]} == {}
        generation = before[f"/resource_providers/{host}/inventories"]["resource_provider_generation"]
        body = {"resource_provider_generation": generation, "traits": []}
        client.change("PUT", f"/resource_providers/{host}/traits", body)
        own = before[f"/allocations/{consumer}"]["consumer_generation"]
        client.change("PUT", f"/allocations/{consumer}", allocations_body({host: {"VCPU": 3}}, own, "TYPE_0"))
        body = {"name": "new", "parent_provider_uuid": host}
        client.change("POST", "/resource_providers", body)
        changed = answers_of(client)
    # And what clients changed there is carried again
    assert run([urls[1], "--verify", *gantt]) == 1
    assert run([urls[1], *gantt]) == 0
    assert run([urls[1], "--verify", *gantt]) == 0
    assert run([urls[0], "--export", *gantt]) == 0
    with client_of(former) as client:
        assert answers_of(client) == changed


@pytest.mark.parametrize("urls", ["sqlite"], indirect=True)
def test_placement_is_copied_over_http(
    urls: list[str], gantt_conf: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_TOKEN", "admin")  # which noauth2 of Placement believes
    placement, gantt = RealPlacement(tmp_path / "placement", urls[0]), ("--config-file", gantt_conf)
    placement.sync("head")
    with placement.serving() as port, contextlib.closing(PlacementClient(port)) as client:
        url = f"http://127.0.0.1:{port}"
        # Given a Placement that clients filled and gantt read by its API
        with mock.patch.dict(os.environ):
            consumer = fill(client)
            host = os.environ[HOST]
        assert run([url, *gantt]) == 0
        assert run([url, "--verify", *gantt]) == 0
        # Then gantt answers the same, with the generations that clients hold
        with contextlib.closing(
            SqlStore(f"sqlite:///{tmp_path / 'gantt.sqlite'}", "p1", namespaces=NAMESPACES)
        ) as store:
            assert answers_of(StoreClient(store)) == answers_of(client)
        # And what changes is found by the next verification, and copied by the next import
        generation = client.call("GET", f"/allocations/{consumer}")[1]["consumer_generation"]
        body = allocations_body({host: {"VCPU": 3}}, generation, "TYPE_0")
        client.change("PUT", f"/allocations/{consumer}", body)
        client.change("POST", "/resource_providers", {"name": "new", "parent_provider_uuid": host})
        assert run([url, "--verify", *gantt]) == 1
        assert run([url, *gantt]) == 0
        assert run([url, "--verify", *gantt]) == 0
