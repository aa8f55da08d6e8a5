# SPDX-License-Identifier: Apache-2.0
"""The driver 'solver': workers that claim batches on the same hosts concurrently, and a cluster that uses it."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from devstack import exercise
from devstack.servers.redis import RedisServer
from rpcapi import context, errors, objects
from rpcapi.admin import waiting
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.calls import SelectionCall, ServedCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.redis import RedisStore
from tests.support.clusters import clusters
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node
from tests.support.scheduler.replica_views import FollowingReplicaView, filter_driver
from tests.support.store.backends import redis_partition

WORKERS = 4
CALLS = 12  # per worker
ROUNDS = [
    pytest.param(3, id="short"),
    pytest.param(200, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]


POLICY = SchedulingPolicy(SolverDriver(filter_driver(), SolverLimits(packs=True)))


class SilentProgress:
    def update(self, number):
        """Ignore the progress."""


def worker(server, partition):
    store = RedisStore(server.url(), partition)
    replica_view = FollowingReplicaView(store)
    return store, replica_view, PartitionScheduler(store, replica_view, SchedulingLimits(max_tries=20))


def calls(number, worker_number):
    """Return the calls of a worker in a round: several sizes, some with two instances, some in the round's group."""
    group = ClaimGroup(f"group-{number}", GroupPolicy.ANTI_AFFINITY, 1)
    return [
        SelectionCall(
            context.new("p", "u"),
            SchedulingRequest(
                f"req-{number}-{worker_number}-{at}", {"VCPU": 1 + at % 3}, group=group if at % 4 == 0 else None
            ),
            [str(uuid.uuid4()) for _ in range(1 + at % 2)],
        )
        for at in range(CALLS)
    ]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_racing_batches_do_not_overcommit(redis_server: RedisServer, rounds):
    partition = redis_partition(redis_server)
    hosts.join(partition.store, {f"h{number}/n": node({"VCPU": 8}) for number in range(8)})
    workers = [worker(redis_server, partition.store.partition) for _ in range(WORKERS)]
    barrier = threading.Barrier(WORKERS)

    def select(number, at):
        selection_calls = calls(number, at)
        _, replica_view, batches = workers[at]
        # All replicas have the state at the start of the round, and nothing later
        replica_view.reach(partition.store.snapshot().position, 30)
        barrier.wait(30)
        return list(
            zip(
                selection_calls,
                batches.select_batch(POLICY, selection_calls),
                strict=True,
            )
        )

    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            for number in range(rounds):
                answered = [
                    pair
                    for worker_pairs in pool.map(lambda at, n=number: select(n, at), range(WORKERS))
                    for pair in worker_pairs
                ]
                report = partition.store.verify()
                assert not report.problems and not report.excess
                # Each call is served whole or not at all, and its result says so
                live = {claim.consumer for claim in partition.store.claims()[0]}
                for call, result in answered:
                    assert isinstance(result, ServedCall | errors.NoValidHost)
                    assert live & set(call.consumers) == (
                        set(call.consumers) if isinstance(result, ServedCall) else set()
                    )
                # No call is refused while capacity is free
                used = partition.store.snapshot().used
                free = [8 - used.get(f"h{at}/n", {}).get("VCPU", 0) for at in range(8)]
                for call, result in answered:
                    if call.request.group is None and not isinstance(result, ServedCall):
                        size = call.request.resources["VCPU"]
                        assert sum(free_amount // size for free_amount in free) < len(call.consumers)
                assert set(partition.store.group_hosts(f"group-{number}").values()) == {1}
                for claim in partition.store.claims()[0]:
                    partition.store.release(claim.host.partition("/")[0], [ClaimRef(claim.consumer, claim.attempt)])
    finally:
        for store, *_ in workers:
            store.close()
        partition.store.close()


@pytest.mark.long
def test_request_with_solver_driver_is_decided_by_the_solver():
    selection_calls = {"scheduler": {"drivers": "solver"}, "solver": {"objective": "pack", "window": "20"}}
    with clusters.running_cluster(overrides={"scheduler": selection_calls}) as cluster:
        session = cluster.session
        uuids = [str(uuid.uuid4()) for _ in range(4)]
        ids = []
        for server_uuid in uuids:
            ids.append(session.new_request())
            spec = objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 512}, driver="solver")
            session.call(session.conductor.build_instances, spec, [server_uuid])
        instances = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, SilentProgress())
        assert [instances[server_uuid].status for server_uuid in uuids] == ["ACTIVE"] * 4
        assert {session.call(session.scheduler.explain, server_uuid).document["driver"] for server_uuid in ids} == {
            "solver"
        }
        # A batch in one call is placed together, on as few hosts as possible
        request = objects.SelectionRequests.of(
            request_ids=["req-batch-1", "req-batch-2"],
            specs=[objects.RequestSpec.of(resources={"VCPU": size}, driver="solver") for size in (1, 2)],
            uuids=[[str(uuid.uuid4())], [str(uuid.uuid4())]],
            attempts=[1, 1],
        )
        answers = cluster.admin.call(cluster.admin.scheduler.select_batch, request)
        assert answers.codes == [None, None]
        batch_record = session.call(session.scheduler.explain, "req-batch-2").document["batch"]
        assert (batch_record["calls"], batch_record["served"], batch_record["objective"]) == (2, 2, "pack")
        # A driver that is not enabled is refused before any host is considered
        session.new_request()
        refused = str(uuid.uuid4())
        spec = objects.RequestSpec.of(resources={"VCPU": 1}, driver="chance")
        session.call(session.conductor.build_instances, spec, [refused])
        instance = waiting.wait_for_status(session, [refused], exercise.FINAL_STATUSES, 60, SilentProgress())[refused]
        assert instance.status == "ERROR"
        assert "may not select driver 'chance'" in instance.reason
