# SPDX-License-Identifier: Apache-2.0
"""Reports and service documents in Redis under concurrent updates."""

from collections.abc import Callable
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.redis.states import RACES
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import ROOMY, StorePartition, node_stats


@pytest.fixture
def partition(redis_server: RedisServer) -> StorePartition:
    """A partition in Redis with host h1, whose last report has number 1."""
    partition = redis_partition(redis_server)
    partition.report("h1", {"h1": node_stats(ROOMY)}, sequence=1)
    return partition


def disturb(
    monkeypatch: pytest.MonkeyPatch, partition: StorePartition, verb: str, change: Callable[[int], Any]
) -> None:
    """Run ``change`` with the number of the call between the reads and the script of every ``verb``."""
    connection: Any = partition.store._connection  # type: ignore[attr-defined]
    run = connection.run
    calls: list[str] = []

    def run_after_change(script: str, /, *arguments: Any, **named: Any) -> Any:
        if script == verb and len(calls) < RACES:
            calls.append(script)
            change(len(calls))
        return run(script, *arguments, **named)

    monkeypatch.setattr(connection, "run", run_after_change)


def test_report_is_compared_again_after_a_concurrent_one(
    redis_server: RedisServer, partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = redis_partition(redis_server, partition=partition.store.partition)
    incarnation = partition.incarnations["h1"]

    def report_once(call: int) -> None:
        if call == 1:
            nodes = {"h1": node_stats({"VCPU": 8})}
            other.store.update_stats("h1", HostReport(incarnation=incarnation, sequence=5, nodes=nodes))

    disturb(monkeypatch, partition, "report", report_once)
    outcome = partition.store.update_stats(
        "h1", HostReport(incarnation, 2, {"h1": {"traits": ["HW_A"]}}, base=1, full=False)
    )
    # The other report is newer: this one is old by now.
    assert not outcome.need_full
    _version, node = partition.store.get_state("compute", "h1")
    assert (node["traits"], node["inventories"]["VCPU"]["total"]) == ([], 8)


def test_report_disturbed_too_often_is_unavailable(
    redis_server: RedisServer, partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = redis_partition(redis_server, partition=partition.store.partition)
    full = {"h1": node_stats(ROOMY)}
    disturb(
        monkeypatch,
        partition,
        "report",
        lambda call: other.store.update_stats("h1", HostReport(0, 1 + call, full, register=True, agent="a")),
    )
    with pytest.raises(errors.StoreUnavailable, match="too many concurrent reports of 'h1'; retry"):
        partition.store.update_stats("h1", HostReport(0, 1, full, register=True, agent="b"))


def test_service_update_disturbed_too_often_is_unavailable(
    redis_server: RedisServer, partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = redis_server.client()
    key = f"gantt:{{p:{partition.store.partition}}}:services"
    text = client.hget(key, "h1")
    # An equal document of another encoding, which only the comparison of texts sees.
    disturb(monkeypatch, partition, "commit", lambda call: client.hset(key, "h1", text + " " * call))
    with pytest.raises(errors.StoreUnavailable, match=r"too many concurrent changes of partition .*; retry"):
        partition.store.put_state("service", "h1", 1, {"enabled": False})
    assert partition.store.put_state("service", "h1", 1, {"enabled": False}) == 2
