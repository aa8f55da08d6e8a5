# SPDX-License-Identifier: Apache-2.0
"""Defects of identities and versions that repeat, each planted again by undoing its fix: the checker finds each."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.store import redis as redis_records
from conductor.store.records import SagaStep
from devstack.lab.chaos import stored_state
from devstack.lab.chaos.final_state import FinalState
from devstack.lab.chaos.history import CallHistory, CallOutcome, Operation
from devstack.lab.chaos.promise_checks import check_promises
from devstack.lab.chaos.state_checks import check_state
from devstack.lab.chaos.violations import ViolationKind
from devstack.servers.redis import RedisServer
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.store import registrations
from tests.chaos.test_planted_defects import guest
from tests.support.conductor.bench import StoreWithClock, redis_bench, request
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import ROOMY, StorePartition, node_stats, running


@pytest.fixture
def server(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """A server of its own."""
    return make_redis()


@pytest.fixture
def partition(server: RedisServer) -> Iterator[StorePartition]:
    backend = redis_partition(server)
    yield backend
    backend.store.close()


@pytest.fixture
def bench(server: RedisServer) -> Iterator[StoreWithClock]:
    """The conductors' store."""
    yield from redis_bench(server, server.url())


@pytest.mark.parametrize("is_fixed", [True, False])
def test_two_agents_that_register_in_turn(
    server: RedisServer,
    partition: StorePartition,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_fixed: bool,
) -> None:
    # Without a proof that two agents are alive, each is believed in turn
    if not is_fixed:
        monkeypatch.setattr(registrations, "DUPLICATE_QUIET_MS", 0)
    partition.add_host("h1")
    ref = partition.hold("a", "h1")
    guest(tmp_path, "h1", "a")
    # Given a second agent, on a copy of the machine's disk from before, that registers again whenever the first one has
    incarnations = {"a": partition.incarnations["h1"], "b": 0}
    for number, agent in enumerate(("b", "a", "b", "a", "b"), start=100):
        nodes = {"h1": node_stats(ROOMY)}
        outcome = partition.report(
            "h1", nodes, agent=agent, incarnation=incarnations[agent], register=True, sequence=number
        )
        incarnations[agent] = outcome.incarnation
    # When both audit what they run, the second one nothing
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [running(ref, "h1")], 0)
    partition.store.audit("h1", epoch, [], 0)
    with server.client() as client:
        stored = stored_state.read_partition(client, partition.store.partition)
    state = FinalState(guests=stored_state.read_guests(tmp_path), partitions=[stored])
    kinds = {item.kind for item in check_state(state)} - {ViolationKind.LEAKED}  # there is no journal
    assert kinds == (set() if is_fixed else {ViolationKind.UNCLAIMED})


@pytest.mark.parametrize("is_fixed", [True, False])
def test_record_version_that_repeats(
    server: RedisServer, bench: StoreWithClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_fixed: bool
) -> None:
    def count_versions() -> None:
        numbers = itertools.count(1)
        if not is_fixed:
            monkeypatch.setattr(redis_records, "make_version", lambda: next(numbers))

    # Given a thread that read a record after a write that the store forgot
    mark = bench.mark()
    count_versions()
    bench.store.record(request(), ["a"])
    stale_record = write(bench, "first")
    # And as many writes since, by which the instance became ACTIVE elsewhere
    bench.forget_since(mark)
    count_versions()
    bench.store.record(request(), ["a"])
    write(bench, "second")
    guest(tmp_path, "second", "a")
    # When the thread writes its outcome
    bench.store.write_without_lease([stale_record], wake=False)
    with server.client() as client:
        state = FinalState(guests=stored_state.read_guests(tmp_path), instances=stored_state.read_instances(client))
    boot = Operation("boot", ["a"], 0.0, 1.0, CallOutcome.ACKNOWLEDGED)
    violations = {item.kind for item in check_promises(CallHistory(operations=[boot]), state)}
    assert violations == (set() if is_fixed else {ViolationKind.LOST})


def write(bench: StoreWithClock, host: str):
    """Write the only instance as ACTIVE on a host, and return its record."""
    record = bench.store.get(["a"])["a"]
    changed = replace(record, attempt=1, step=SagaStep.DONE, status=InstanceStatus.ACTIVE, host=host)
    assert not bench.store.write_without_lease([changed], wake=False).stale
    return bench.store.get(["a"])["a"]
