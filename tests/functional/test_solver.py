# SPDX-License-Identifier: Apache-2.0
"""The driver 'solver': workers that claim whole batches of the same hosts at once, and a cluster that decides by it."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from devstack import exercise
from devstack.servers.redis import RedisServer
from rpcapi import context, errors, objects
from rpcapi.model.claims import GroupPolicy
from rpcapi.shell import waiting
from scheduler_svc.deciding.asked import SelectionCall, SelectionResult
from scheduler_svc.deciding.batch import BatchSelector
from scheduler_svc.deciding.select import RetryLimits, Selector
from scheduler_svc.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.request import SchedulingRequest
from scheduler_svc.store.records import ClaimGroup, ClaimRef
from scheduler_svc.store.redis import RedisStore
from tests.functional import clusters
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node
from tests.unit.scheduler_svc.sights import FollowingReplicaView, filter_driver
from tests.unit.scheduler_svc.store.backends import redis_world

WORKERS = 4
CALLS = 12  # of each worker
ROUNDS = [
    pytest.param(3, id="short"),
    pytest.param(200, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]


class Unseen:
    def update(self, number):
        """Show nothing."""


def worker(server, partition):
    store = RedisStore(server.url(), partition)
    driver = SolverDriver(filter_driver(), SolverLimits(packs=True, limit_s=0.2))
    sight = FollowingReplicaView(store)
    return store, sight, BatchSelector(Selector(store, sight, driver, RetryLimits(max_tries=20)))


def calls(number, worker_number):
    """What one worker asks for in one round: several sizes, some of two instances, some of one group of the round."""
    group = ClaimGroup(f"group-{number}", GroupPolicy.ANTI_AFFINITY, 1)
    return [
        SelectionCall(
            SchedulingRequest(f"req-{number}-{worker_number}-{at}", {"VCPU": 1 + at % 3}, group=group if at % 4 == 0 else None),
            [str(uuid.uuid4()) for _ in range(1 + at % 2)],
        )
        for at in range(CALLS)
    ]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_batches_that_race_for_the_same_hosts_sell_nothing_twice(redis_server: RedisServer, rounds):
    world = redis_world(redis_server)
    hosts.join(world.store, {f"h{number}/n": node({"VCPU": 8}) for number in range(8)})
    workers = [worker(redis_server, world.store.partition) for _ in range(WORKERS)]
    barrier = threading.Barrier(WORKERS)

    def ask(number, at):
        wanted = calls(number, at)
        _, sight, batches = workers[at]
        # All know how the round begins, and nothing of what the others do in it
        sight.reach(world.store.snapshot().position, 30)
        barrier.wait(30)
        return list(zip(wanted, batches.select_batch(context.new("p", "u"), wanted), strict=True))

    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            for number in range(rounds):
                answered = [pair for its in pool.map(lambda at, n=number: ask(n, at), range(WORKERS)) for pair in its]
                found = world.store.verify()
                assert not found.problems and not found.excess
                # Each call has all it asked for, or nothing, and knows which
                live = {claim.consumer for claim in world.store.claims()[0]}
                for asked, outcome in answered:
                    assert isinstance(outcome, SelectionResult | errors.NoValidHost)
                    assert live & set(asked.consumers) == (
                        set(asked.consumers) if isinstance(outcome, SelectionResult) else set()
                    )
                # Nobody is refused while there is room
                used = world.store.snapshot().used
                free = [8 - used.get(f"h{at}/n", {}).get("VCPU", 0) for at in range(8)]
                for asked, outcome in answered:
                    if asked.request.group is None and not isinstance(outcome, SelectionResult):
                        size = asked.request.resources["VCPU"]
                        assert sum(left // size for left in free) < len(asked.consumers)
                assert set(world.store.group_hosts(f"group-{number}").values()) == {1}
                for claim in world.store.claims()[0]:
                    world.store.release(claim.host.partition("/")[0], [ClaimRef(claim.consumer, claim.attempt)])
    finally:
        for store, *_ in workers:
            store.close()
        world.store.close()


@pytest.mark.long
def test_servers_boot_by_the_solver_where_a_request_names_it():
    wanted = {"scheduler": {"drivers": "solver"}, "solver": {"objective": "pack", "window": "20"}}
    with clusters.running(overrides={"scheduler": wanted}) as cluster:
        session = cluster.session
        uuids = [str(uuid.uuid4()) for _ in range(4)]
        ids = []
        for one in uuids:
            ids.append(session.new_request())
            spec = objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 512}, driver="solver")
            session.call(session.conductor.build_instances, spec, [one])
        known = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, Unseen())
        assert [known[one].status for one in uuids] == ["ACTIVE"] * 4
        assert {session.call(session.scheduler.explain, one).document["driver"] for one in ids} == {"solver"}
        # A batch in one call is placed together, on as few hosts as take it
        request = objects.SelectionRequests.of(
            request_ids=["req-batch-1", "req-batch-2"],
            specs=[objects.RequestSpec.of(resources={"VCPU": size}, driver="solver") for size in (1, 2)],
            uuids=[[str(uuid.uuid4())], [str(uuid.uuid4())]],
            attempts=[1, 1],
        )
        answers = session.call(session.scheduler.select_batch, request)
        assert answers.codes == [None, None]
        told = session.call(session.scheduler.explain, "req-batch-2").document["batch"]
        assert (told["calls"], told["served"], told["objective"]) == (2, 2, "pack")
        # Whom nobody allowed is refused before any host is looked at
        session.new_request()
        refused = str(uuid.uuid4())
        spec = objects.RequestSpec.of(resources={"VCPU": 1}, driver="chance")
        session.call(session.conductor.build_instances, spec, [refused])
        instance = waiting.wait_for_status(session, [refused], exercise.FINAL_STATUSES, 60, Unseen())[refused]
        assert instance.status == "ERROR"
        assert "may not be decided by driver 'chance'" in instance.reason
