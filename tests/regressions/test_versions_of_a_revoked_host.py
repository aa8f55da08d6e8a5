# SPDX-License-Identifier: Apache-2.0
"""A host that was revoked holds back no message to the others: its machine is gone for good."""

from collections.abc import Iterator

import pytest

import rpcapi.version
from rpcapi import context
from rpcapi.clients.compute import ComputeAPI
from tests.support.scheduler.workers import FakeTransportWorker, node_report

OLD = "1.1"


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransportWorker]:
    """A worker with the hosts "current" and "old"; the agent of "old" has the oldest supported version."""
    monkeypatch.setattr(rpcapi.version, "OLDEST_AGENT", OLD)
    worker = FakeTransportWorker()
    worker.service.start()
    for host, version in (("current", ComputeAPI.VERSION), ("old", OLD)):
        answer = worker.report(host, {host: node_report()}, rpc_versions={"compute": version})
        worker.audit(host, answer.epoch)
    worker.catch_up()
    yield worker
    worker.service.stop()
    worker.service.wait()


def oldest(worker: FakeTransportWorker) -> str:
    """Return the version that clients with `compute = auto` send at most."""
    worker.catch_up()
    return str(worker.scheduler.get_oldest_versions(context.new())["compute"])


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="A fence for good keeps the host's reported versions.")
def test_revoked_host_caps_no_messages(worker: FakeTransportWorker) -> None:
    assert oldest(worker) == OLD
    worker.claims.fence_host(context.new(), "old", "token", force=True, replace=True)
    assert oldest(worker) == ComputeAPI.VERSION


def test_fenced_host_that_may_return_still_caps(worker: FakeTransportWorker) -> None:
    worker.claims.fence_host(context.new(), "old", "token", force=True)
    assert oldest(worker) == OLD
