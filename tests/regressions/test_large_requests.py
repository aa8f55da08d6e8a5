# SPDX-License-Identifier: Apache-2.0
"""Regression: above 100 instances a request was claimed in parts, and neither placed whole nor not at all.

A part that was given back had used its attempt up, so that all instances ended in ERROR while they only had to wait;
one that could not be given back was built without the rest; and affinity chose a host for the first part only.
A real scheduler on a real store, and a real saga, whose clock the test steps.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.collaborators import ServiceClients
from conductor.requests import builds
from conductor.saga.saga import BuildSaga
from conductor.saga.step_context import SagaLimits
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import InstanceRecord, LeaseLost, StoreTimeouts
from rpcapi import context, errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import MAX_INSTANCES, Answer, GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from tests.support.conductor.conductors import make_conductor
from tests.support.scheduler.hosts import request
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition, intent, node_stats

SIZES = [1, 100, 101, MAX_INSTANCES]
CTXT = context.new("project", "user")
ONE = {"VCPU": 1}


@pytest.fixture(params=["memory", "redis"])
def partition(request: pytest.FixtureRequest) -> Iterator[StorePartition]:
    """A partition without hosts."""
    created = (
        memory_partition() if request.param == "memory" else redis_partition(request.getfixturevalue("redis_server"))
    )
    yield created
    created.store.close()


class Worker:
    """A scheduler worker that can die with its answer, and the claims service of its partition."""

    def __init__(self, partition: StorePartition, ttl_ms: int = LONG_MS) -> None:
        self._partition = partition
        self._replica = FollowingReplicaView(partition.store)
        self._scheduler = PartitionScheduler(partition.store, self._replica, SchedulingLimits(ttl_ms=ttl_ms))
        self.lost_answers = 0
        self.attempts: list[int] = []
        self.group_policy = ""

    def get_server_group(self, ctxt: RequestContext, group_id: str, project: str | None = None) -> objects.ServerGroup:
        return objects.ServerGroup.of(id=group_id, project=project, policy=self.group_policy)

    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        return {}

    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: Sequence[str],
        attempt: int = 1,
        alternates: int = 2,
        *,
        fresh: bool = False,
        moves: Sequence[Mapping[str, Any] | None] = (),
    ) -> objects.Selections:
        self._replica.reach(self._partition.store.snapshot().position, 1)
        self.attempts.append(attempt)
        call = SelectionCall(ctxt, decode.request(ctxt, spec), list(uuids), attempt, alternates, fresh=fresh)
        result = self._scheduler.select(FILTER_POLICY, call)
        if self.lost_answers:
            self.lost_answers -= 1
            raise messaging.MessagingTimeout("the worker died")
        return encode.selections(attempt, result)

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        answers = self._partition.store.abort(decode.refs(refs), host, destinations)
        return encode.claim_answers(answers, Answer.ABORTED)


class SilentHosts:
    """Agents that get every message and never report."""

    def build_instances(self, ctxt: RequestContext, host: str, build: objects.BuildRequest) -> None:
        pass

    def terminate_instances(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        pass


class OneRequest:
    """A request of ``size`` instances at a conductor, which sends it to ``worker``, and builds to ``hosts``."""

    def __init__(self, worker: Worker, size: int, hosts: SilentHosts | None = None, **values: object) -> None:
        """``values`` are fields of the request spec."""
        self.now_ms = 1_700_000_000_000
        self.uuids = [f"00000000-0000-4000-8000-{number:012}" for number in range(size)]
        self._store = MemoryConductorStore(StoreTimeouts(), lambda: self.now_ms)
        self.now_ms += StoreTimeouts().repeat_horizon_ms  # since the store's epoch began
        clients = ServiceClients(worker, hosts or SilentHosts(), lambda _partition: worker, "p1")  # type: ignore[arg-type]
        self.conductor = make_conductor(self._store, clients, max_instances=MAX_INSTANCES)
        self._saga = BuildSaga(self._store, clients, SagaLimits(), threading.Event())
        spec = objects.RequestSpec.of(resources=ONE, flavor="tiny", **values)
        builds.build(self.conductor, CTXT, spec, self.uuids, first_sent=self.now_ms / 1000)

    def run(self, milliseconds: int) -> None:
        """Do all work that is due within that time."""
        until = self.now_ms + milliseconds
        while True:
            for lease in self._store.take("conductor", 4):
                with contextlib.suppress(LeaseLost):
                    self._saga.advance(lease)
            due = self._store.next_due()
            if due is None or due > until:
                self.now_ms = until
                return
            self.now_ms = max(self.now_ms, due)

    @property
    def records(self) -> list[InstanceRecord]:
        return list(self._store.get(self.uuids).values())

    def states(self) -> Counter[tuple[str, int]]:
        """Return the number of instances by status and attempt."""
        return Counter((str(record.status), record.attempt) for record in self.records)


def live_claims(partition: StorePartition) -> int:
    return sum(partition.check().claims.values())


def add_host(partition: StorePartition, name: str, capacity: int, *, opened: bool = True) -> None:
    amounts = {"VCPU": capacity, "MEMORY_MB": 1 << 20, "DISK_GB": 1 << 16}
    outcome = partition.report(name, {name: node_stats(amounts)})
    if opened:
        partition.store.audit(name, outcome.epoch, [], 0)


@pytest.mark.parametrize("new_epoch", [True, False], ids=["after an epoch", "new host"])
@pytest.mark.parametrize("size", SIZES)
def test_request_waits_whole_for_an_audit_and_keeps_its_attempt(
    partition: StorePartition, size: int, new_epoch: bool
) -> None:
    """Given capacity for a part on an audited host, and for the rest on one that has not audited."""
    for name in ("h1", "h2"):
        add_host(partition, name, max(1, size - 1), opened=new_epoch or name == "h1")
    partition.prepare("another", "h1", resources={"VCPU": max(1, size // 3)})
    epoch = partition.new_epoch() if new_epoch else partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [], LONG_MS)
    before = live_claims(partition)
    worker = Worker(partition)
    one_request = OneRequest(worker, size)
    one_request.run(60_000)
    if size > 1:
        assert one_request.states() == {("SCHEDULING", 1): size}
        assert len(worker.attempts) > 3 and live_claims(partition) == before
    partition.store.audit("h2", epoch, [], LONG_MS)
    one_request.run(60_000)
    assert one_request.states() == {("BUILDING", 1): size}
    assert live_claims(partition) == before + size


@pytest.mark.parametrize("size", SIZES)
def test_request_of_a_worker_that_died_gets_the_same_claims(partition: StorePartition, size: int) -> None:
    add_host(partition, "h1", size)
    worker = Worker(partition)
    worker.lost_answers = 4
    one_request = OneRequest(worker, size)
    one_request.run(60_000)
    assert one_request.states() == {("BUILDING", 1): size}
    assert (worker.attempts, live_claims(partition)) == ([1] * 5, size)


@pytest.mark.parametrize("size", [1, 100, 101, pytest.param(MAX_INSTANCES, marks=pytest.mark.long)])
def test_request_whose_claims_expire_again_and_again_is_placed_whole(partition: StorePartition, size: int) -> None:
    """Given more dead workers than attempts: no host was requested to build, so no attempt is used up."""
    add_host(partition, "h1", size)
    worker = Worker(partition, SHORT_MS)
    one_request = OneRequest(worker, size)
    for _ in range(SagaLimits().max_attempts + 1):
        worker.lost_answers = 1_000
        one_request.run(10_000)
        assert set(one_request.states()) == {("SCHEDULING", one_request.records[0].attempt)}
        partition.wait_until(partition.time() + SHORT_MS)
    worker.lost_answers = 0
    one_request.run(30_000)
    records = one_request.records
    assert {str(record.status) for record in records} == {"BUILDING"}
    (attempt,) = {record.attempt for record in records}
    assert attempt > SagaLimits().max_attempts
    assert {record.builds for record in records} == {1}


@pytest.mark.parametrize("size", [100, 101, MAX_INSTANCES])
def test_claims_that_an_epoch_parts_are_selected_again_together(partition: StorePartition, size: int) -> None:
    """Given claims on two hosts whose answer was lost, and an epoch in which one host has audited."""
    for name in ("h1", "h2"):
        add_host(partition, name, size - size // 2)
    worker = Worker(partition)
    worker.lost_answers = 1
    one_request = OneRequest(worker, size)
    one_request.run(0)
    assert live_claims(partition) == size
    epoch = partition.new_epoch()
    partition.store.audit("h1", epoch, [], LONG_MS)
    one_request.run(60_000)
    # Then all of them have ended, since no host got a build, and no instance is placed without the others
    assert one_request.states() == {("SCHEDULING", 2): size}
    assert live_claims(partition) == 0
    partition.store.audit("h2", epoch, [], LONG_MS)
    one_request.run(60_000)
    assert one_request.states() == {("BUILDING", 2): size}
    assert live_claims(partition) == size


@pytest.mark.parametrize("size", [90, 101, 150, MAX_INSTANCES])
def test_affinity_chooses_a_host_with_capacity_for_all(partition: StorePartition, size: int) -> None:
    """Given a host that weighs more, and has capacity for all instances but one."""
    partition.report("x", {"x": node_stats({"VCPU": size - 1, "MEMORY_MB": 1 << 22, "DISK_GB": 1 << 16})})
    partition.store.audit("x", partition.store.snapshot().epoch, [], 0)
    add_host(partition, "y", size)
    spec = request({"VCPU": 1, "MEMORY_MB": 64}, group=ClaimGroup("g", GroupPolicy.AFFINITY))
    scheduler = PartitionScheduler(partition.store, FollowingReplicaView(partition.store), SchedulingLimits())
    result = scheduler.select(FILTER_POLICY, SelectionCall(CTXT, spec, [f"vm-{number}" for number in range(size)]))
    assert {prepared.host for prepared in result.prepared} == {"y"}


@pytest.mark.parametrize(("hosts", "size", "filled"), [(100, 60, 30), (100, 50, 40), (60, 20, 38), (30, 5, 24)])
def test_hosts_that_only_an_unwritten_batch_had_planned_stay_candidates(
    partition: StorePartition, hosts: int, size: int, filled: int
) -> None:
    """Given hosts that others filled after the worker's last look, and an anti-affine group."""
    for number in range(hosts):
        add_host(partition, f"h{number}", 4)
    scheduler = PartitionScheduler(partition.store, FollowingReplicaView(partition.store), SchedulingLimits())
    others = [intent(f"other-{number}", f"h{number}") for number in range(filled)]
    assert partition.store.prepare(partition.batch(*others, resources={"VCPU": 4})).accepted
    spec = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))
    result = scheduler.select(FILTER_POLICY, SelectionCall(CTXT, spec, [f"vm-{number}" for number in range(size)]))
    assert len({prepared.host for prepared in result.prepared}) == size


def test_larger_request_is_refused_with_both_numbers() -> None:
    with pytest.raises(errors.InvalidCount, match=r"1001.*1000|1000.*1001"):
        OneRequest(Worker(memory_partition()), MAX_INSTANCES + 1)
