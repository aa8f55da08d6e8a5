# SPDX-License-Identifier: Apache-2.0
"""Uuids in hints, and names of forced and ignored hosts, mean the same in each accepted spelling."""

import uuid
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from conductor.requests import builds
from conductor.saga.step_context import load_spec
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from tests.support.conductor.conductors import make_conductor
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report

NAMED = "4d1c8a5e-63b2-4e07-9f58-0a7bc6d2e913"
CTXT = context.new("p", "u")


@pytest.fixture(scope="module")
def worker() -> Iterator[FakeTransportWorker]:
    """A worker with hosts h1 and h2, and the instance NAMED on h1."""
    worker = FakeTransportWorker()
    worker.service.start()
    for host in ("h1", "h2"):
        worker.join(host, {host: node_report()})
    worker.select(ctxt=CTXT, uuids=[NAMED], force_hosts=["h1"])
    yield worker
    worker.service.stop()
    worker.service.wait()


def is_placed(worker: FakeTransportWorker, host: str, hint: str, spelling: str) -> bool:
    """Return whether a server with the hint can be booted on the host."""
    spec = objects.RequestSpec.of(resources=SMALL_REQUEST, hints={hint: spelling}, force_hosts=[host])
    try:
        builds.build(make_conductor(MemoryConductorStore()), CTXT, spec, [str(uuid.uuid4())])
        return hosts_of(worker, spec) == [host]
    except errors.InvalidRequest:
        return False


def hosts_of(worker: FakeTransportWorker, spec: objects.RequestSpec) -> list[str]:
    """Return the hosts that a server could be booted on, best first."""
    document = worker.scheduler.dry_run(CTXT, spec).document
    return [] if document["outcome"] == "refused" else document["candidates"][0]


def test_canonical_spelling_keeps_servers_apart_and_together(worker: FakeTransportWorker) -> None:
    assert not is_placed(worker, "h1", "different_host", NAMED)
    assert is_placed(worker, "h2", "different_host", NAMED)
    assert not is_placed(worker, "h2", "same_host", NAMED)
    assert is_placed(worker, "h1", "same_host", NAMED)


@pytest.mark.parametrize("spelling", [NAMED.upper(), NAMED.replace("-", "")])
def test_other_spelling_keeps_servers_apart(worker: FakeTransportWorker, spelling: str) -> None:
    assert not is_placed(worker, "h1", "different_host", spelling)
    assert is_placed(worker, "h2", "different_host", spelling)


@pytest.mark.parametrize("spelling", [NAMED.upper(), NAMED.replace("-", ""), f"{{{NAMED}}}"])
def test_other_spelling_keeps_servers_together(worker: FakeTransportWorker, spelling: str) -> None:
    assert is_placed(worker, "h1", "same_host", spelling)
    assert not is_placed(worker, "h2", "same_host", spelling)


def test_spelling_makes_no_other_request(worker: FakeTransportWorker) -> None:
    group = objects.ServerGroup.of(id=NAMED, project="p", policy="affinity")
    worker.scheduler.create_server_group(CTXT, group)
    conductor = make_conductor(MemoryConductorStore(), SimpleNamespace(scheduler=worker.scheduler))
    consumer = str(uuid.uuid4())
    for spelling in (NAMED, NAMED.upper()):
        spec = objects.RequestSpec.of(
            resources=SMALL_REQUEST,
            hints={"same_host": [spelling], "group": spelling},
            group_id=spelling,
            group_policy="affinity",
        )
        builds.build(conductor, CTXT, spec, [consumer])
    (record,) = conductor.store.get([consumer]).values()
    stored = load_spec(conductor.store.requests([record.request])[record.request].spec)
    assert (stored.hints, stored.group_id) == ({"same_host": [NAMED]}, NAMED)


@pytest.mark.parametrize("name", ["H1", "h1"])
def test_forced_and_ignored_hosts_are_found_in_any_case(worker: FakeTransportWorker, name: str) -> None:
    assert hosts_of(worker, objects.RequestSpec.of(resources=SMALL_REQUEST, force_hosts=[name])) == ["h1"]
    assert hosts_of(worker, objects.RequestSpec.of(resources=SMALL_REQUEST, ignore_hosts=[name])) == ["h2"]
