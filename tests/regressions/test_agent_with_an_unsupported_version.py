# SPDX-License-Identifier: Apache-2.0
"""An agent that reports an RPC version from before all supported releases is left out, and holds back nobody.

At cec1a46b `[upgrade_levels] compute = auto` capped the messages to all agents at 0.1, so that no host got a server.
"""

from collections.abc import Iterator

import pytest

import rpcapi.version
from rpcapi import context, errors, objects
from rpcapi.clients.compute import ComputeAPI
from scheduler_svc.core.filters.compute import REASON_TOO_OLD
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report

CURRENT = {"compute": ComputeAPI.VERSION}


@pytest.fixture
def worker() -> Iterator[FakeTransportWorker]:
    """A worker with the host "current", and the host "other" that has not joined yet."""
    worker = FakeTransportWorker()
    worker.service.start()
    join(worker, "current", CURRENT)
    yield worker
    worker.service.stop()
    worker.service.wait()


def join(worker: FakeTransportWorker, host: str, versions: object, agent: str = "a") -> None:
    """Register an agent that reports these versions, and audit its host."""
    answer = worker.scheduler.update_resource_stats(
        context.new(),
        host,
        objects.StatsReport.of(
            incarnation=0,
            sequence=1,
            full=True,
            register=True,
            agent=agent,
            nodes={host: node_report()},
            rpc_versions=versions,
        ),
    )
    worker.audit(host, answer.epoch)
    worker.catch_up()


def decide(worker: FakeTransportWorker, count: int) -> dict:
    """Return the record of a dry run for so many instances."""
    spec = objects.RequestSpec.of(resources=SMALL_REQUEST)
    return worker.scheduler.dry_run(context.new("p", "u"), spec, count).document


def oldest(worker: FakeTransportWorker) -> str | None:
    """Return the version that clients with `compute = auto` send at most."""
    return worker.scheduler.get_oldest_versions(context.new())["compute"]


@pytest.mark.parametrize("version", ["0.1", "0.9"])
def test_host_of_an_unsupported_version_is_left_out_alone(worker: FakeTransportWorker, version: str) -> None:
    join(worker, "other", {"compute": version})
    assert oldest(worker) == ComputeAPI.VERSION
    decision = decide(worker, 1)
    assert decision["candidates"] == [["current"]]
    assert decision["reasons"] == {REASON_TOO_OLD: 1}
    shown = {
        host: worker.scheduler.get_host_state(context.new(), "service", host).document.get("too_old")
        for host in ("current", "other")
    }
    assert shown == {"current": None, "other": True}
    scheduler_worker = worker.service._worker
    assert scheduler_worker is not None
    replica = scheduler_worker.scheduling.partitions.own.replica
    for _ in range(2):
        assert (replica.host_counts.schedulable, replica.host_counts.too_old) == (1, 1)
        assert replica.reload(10)  # from a snapshot instead of the log


def test_host_returns_with_a_supported_agent(worker: FakeTransportWorker) -> None:
    join(worker, "other", {"compute": "0.1"})
    join(worker, "other", CURRENT, agent="b")
    assert len(decide(worker, 1)["candidates"][0]) == 2


@pytest.mark.parametrize("version", ["1.1", "1.5", None])
def test_supported_older_agent_still_caps_and_gets_servers(
    worker: FakeTransportWorker, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpcapi.version, "OLDEST_AGENT", "1.1")
    join(worker, "other", version and {"compute": version})
    assert oldest(worker) == version
    assert sorted(decide(worker, 1)["candidates"][0]) == ["current", "other"]


@pytest.mark.parametrize(
    "versions",
    [{"compute": "01.1"}, {"compute": "1.x"}, {"compute": 1}, {"compute": "1.٣"}, {"conductor": "1.1"}, ["compute"]],
)
def test_malformed_versions_are_refused_and_change_nothing(worker: FakeTransportWorker, versions: object) -> None:
    with pytest.raises(errors.InvalidRequest, match="versions"):
        join(worker, "other", versions)
    with pytest.raises(errors.UnknownHost):
        worker.scheduler.get_host_state(context.new(), "service", "other")
    assert oldest(worker) == ComputeAPI.VERSION
