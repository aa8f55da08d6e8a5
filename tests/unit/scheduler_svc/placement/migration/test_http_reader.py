# SPDX-License-Identifier: Apache-2.0
"""What is read from another Placement over HTTP; here gantt's own API, on a loopback port."""

import threading
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from microversion_parse import Version

from rpcapi.resources import names
from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.http.authentication import trust_tokens
from scheduler_svc.placement.migration.copying import CopyPass
from scheduler_svc.placement.migration.dump import CustomNameKind
from scheduler_svc.placement.migration.failures import PlacementUnavailable
from scheduler_svc.placement.migration.http_client import PlacementClient, credentials
from scheduler_svc.placement.migration.http_reader import HttpReader
from scheduler_svc.placement.migration.store_reader import StoreReader, uuid_of
from scheduler_svc.placement.migration.store_writer import StoreWriter
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import (
    VOCABULARIES,
    CreateProvider,
    DeleteProvider,
    SetAggregates,
    SetInventories,
    SetTraits,
)
from tests.support.placement.placement_database import uuid_for
from tests.support.scheduler.placement import PlacementApi
from tests.support.store.backends import memory_partition

ROOT, CHILD = names.api_provider(uuid_for("root")), names.api_provider(uuid_for("child"))
VM, OTHER = uuid_for("vm-1"), uuid_for("vm-2")
AGGREGATE = uuid_for("aggregate")


class QuietHandler(WSGIRequestHandler):
    """Logs no requests."""

    def log_message(self, *_arguments: Any) -> None:
        return


class Server:
    """Another Placement. ``before`` is called with the path before each request is served."""

    def __init__(self) -> None:
        self.api = PlacementApi()
        self.before: Callable[[str], None] = lambda path: None
        application = trust_tokens(self.api.application)

        def serve(environ: dict[str, Any], start_response: Any) -> Any:
            self.before(environ["PATH_INFO"])
            return application(environ, start_response)

        self._server = make_server("127.0.0.1", 0, serve, WSGIServer, QuietHandler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def reader(self) -> HttpReader:
        return HttpReader(PlacementClient(self.url, credentials(self.url, {"OS_TOKEN": "admin"})))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A Placement with a tree of two providers, from which two consumers hold."""
    server = Server()
    store = server.api.store
    store.change_provider(CreateProvider(ROOT, "root"))
    store.change_provider(SetInventories(ROOT, {"VCPU": Inventory(8, reserved=1, allocation_ratio=1.15)}))
    store.change_provider(SetTraits(ROOT, ["HW_CPU_X86_AVX", "CUSTOM_FAST"]))
    store.change_provider(SetAggregates(ROOT, [AGGREGATE]))
    store.change_provider(CreateProvider(CHILD, "child \N{SNOWMAN}", ROOT))
    store.change_provider(SetInventories(CHILD, {"CUSTOM_SLOT": Inventory(4, step_size=2)}))
    store.put_state("trait", "CUSTOM_UNUSED", 0, {"changed_ms": 1})
    parts = {ROOT: {"VCPU": 2}, CHILD: {"CUSTOM_SLOT": 2}}
    assert store.allocate([AllocationChange(VM, parts, "p1", "u1", None, "INSTANCE")]) is None
    assert store.allocate([AllocationChange(OTHER, {ROOT: {"VCPU": 1}}, "p2", "u1", None)]) is None
    yield server
    server.close()


def test_records_are_read_whole(server: Server) -> None:
    contents = server.reader().read()
    expected = StoreReader(server.api.store).read()
    assert (contents.providers, contents.consumers) == (expected.providers, expected.consumers)
    assert contents.providers[uuid_for("child")].parent == uuid_for("root")
    assert (contents.consumers[VM].type, contents.consumers[OTHER].type) == ("INSTANCE", "")
    assert set(contents.names) == {
        (CustomNameKind.TRAIT, "CUSTOM_FAST"),
        (CustomNameKind.TRAIT, "CUSTOM_UNUSED"),
        (CustomNameKind.RESOURCE_CLASS, "CUSTOM_SLOT"),
    }


def always_changing(server: Server, provider: str) -> Callable[[str], None]:
    """Return what changes a provider during each of its reads."""

    def change(path: str) -> None:
        if path == f"/resource_providers/{uuid_of(provider)}/aggregates":
            server.api.store.change_provider(SetInventories(provider, {"VCPU": Inventory(8)}))

    return change


def test_what_is_read_can_be_imported(server: Server) -> None:
    partition = memory_partition(namespaces=VOCABULARIES)
    source, target = server.reader().read(), StoreReader(partition.store).read()
    assert not CopyPass(source, target, StoreWriter(partition.store), lambda *_: None).run().refusals
    imported = StoreReader(partition.store).read()
    assert (imported.providers, imported.consumers) == (source.providers, source.consumers)
    partition.check()


def test_a_provider_whose_generation_moves_is_read_again(server: Server) -> None:
    changes = []

    def change(path: str) -> None:
        if path == f"/resource_providers/{uuid_for('root')}/aggregates" and len(changes) < 2:
            changes.append(path)
            inventory = {"VCPU": Inventory(8 + len(changes))}
            server.api.store.change_provider(SetInventories(ROOT, inventory))

    server.before = change
    root = server.reader().read().providers[uuid_for("root")]
    assert len(changes) == 2
    assert root.inventories["VCPU"].total == 10
    assert root.generation == server.api.store.read_generations([ROOT])[ROOT]


def test_a_provider_that_always_changes_is_named_and_the_rest_read(server: Server) -> None:
    server.before = always_changing(server, ROOT)
    contents = server.reader().read()
    assert contents.unread == {uuid_for("root"): "its name is root, and it changed during each of 10 reads"}
    assert set(contents.providers) == {uuid_for("child")}
    # Also the one that holds from that provider only: to leave it out would end it in gantt
    assert contents.consumers == StoreReader(server.api.store).read().consumers


def test_a_consumer_that_ends_meanwhile_is_left_out(server: Server) -> None:
    def change(path: str) -> None:
        if path == f"/allocations/{VM}":
            assert server.api.store.allocate([AllocationChange(VM, {}, "p1", "u1", ANY)]) is None

    server.before = change
    assert set(server.reader().read().consumers) == {OTHER}


def test_a_provider_that_is_deleted_meanwhile_is_left_out(server: Server) -> None:
    store, idle = server.api.store, uuid_for("idle")
    store.change_provider(CreateProvider(names.api_provider(idle), "idle"))
    assert idle in server.reader().read().providers

    def delete(path: str) -> None:
        if path == f"/resource_providers/{idle}/traits":
            store.change_provider(DeleteProvider(names.api_provider(idle)))

    server.before = delete
    assert set(server.reader().read().providers) == {uuid_for("root"), uuid_for("child")}


def test_failures_are_named(server: Server) -> None:
    def fail(path: str) -> None:
        if path == "/resource_providers":
            raise RuntimeError("a defect of the server")

    server.before = fail
    with pytest.raises(PlacementUnavailable, match="GET /resource_providers returned 500"):
        server.reader().read()
    refused = PlacementClient("http://127.0.0.1:1", credentials("http://127.0.0.1:1", {"OS_TOKEN": "admin"}))
    with pytest.raises(PlacementUnavailable, match="GET / failed"):
        HttpReader(refused).read()
    with pytest.raises(PlacementUnavailable, match="set OS_TOKEN"):
        credentials(server.url, {})


def test_an_older_placement_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_svc.placement.migration.http_client.LEAST", Version(1, 40))
    with pytest.raises(PlacementUnavailable, match=r"it serves microversions to 1\.39; 1\.40 is needed"):
        server.reader().read()
