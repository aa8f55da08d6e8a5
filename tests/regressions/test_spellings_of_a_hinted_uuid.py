# SPDX-License-Identifier: Apache-2.0
"""The hints same_host and different_host hold for each accepted spelling of an instance's uuid."""

import uuid
from collections.abc import Iterator

import pytest

from conductor.requests import builds
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from tests.support.conductor.parts import make_parts
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
    fields = {"hints": {hint: spelling}, "force_hosts": [host]}
    consumer = str(uuid.uuid4())
    try:
        spec = objects.RequestSpec.of(resources=SMALL_REQUEST, **fields)
        builds.build(make_parts(MemoryConductorStore()), CTXT, spec, [consumer])
        worker.select(ctxt=CTXT, uuids=[consumer], **fields)
    except (errors.NoValidHost, errors.InvalidRequest):
        return False
    return True


def test_canonical_spelling_keeps_servers_apart_and_together(worker: FakeTransportWorker) -> None:
    assert not is_placed(worker, "h1", "different_host", NAMED)
    assert is_placed(worker, "h2", "different_host", NAMED)
    assert not is_placed(worker, "h2", "same_host", NAMED)
    assert is_placed(worker, "h1", "same_host", NAMED)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="A hint with another spelling of the uuid has no effect.")
@pytest.mark.parametrize("spelling", [NAMED.upper(), NAMED.replace("-", "")])
def test_other_spelling_keeps_servers_apart(worker: FakeTransportWorker, spelling: str) -> None:
    assert not is_placed(worker, "h1", "different_host", spelling)
