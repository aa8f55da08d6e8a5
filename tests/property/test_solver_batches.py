# SPDX-License-Identifier: Apache-2.0
"""Solver batches on tables: solutions fit, keep group policies, and serve no fewer calls than one by one."""

from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.driver import RankRequest
from scheduler_svc.core.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.request import DecisionContext, SchedulingRequest
from tests.support.scheduler import hosts
from tests.support.scheduler.placements import AMPLE_S, AMPLE_WORK
from tests.support.scheduler.replica_views import filter_driver

AMOUNTS = st.fixed_dictionaries({"VCPU": st.integers(1, 4)}, optional={"MEMORY_MB": st.integers(1, 4)})
CLOUD = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.booleans()), min_size=1, max_size=6)
SOFT = (GroupPolicy.SOFT_AFFINITY, GroupPolicy.SOFT_ANTI_AFFINITY)


@st.composite
def batches(draw, grouped=True):
    groups = [ClaimGroup("pets", draw(st.sampled_from(list(GroupPolicy))), 1)] if grouped else []
    rank_requests = []
    for number in range(draw(st.integers(1, 6))):
        group = draw(st.sampled_from([None, *groups]))
        traits = ("CUSTOM_FAST",) if draw(st.booleans()) else ()
        request = SchedulingRequest(f"req-{number}", draw(AMOUNTS), required_traits=traits, group=group)
        rank_requests.append(RankRequest(request, draw(st.integers(1, 3)), number))
    return rank_requests


def table(cloud):
    return hosts.table(
        {
            f"h{number}": hosts.node({"VCPU": cpus, "MEMORY_MB": memory}, ["CUSTOM_FAST"] if fast else [])
            for number, (cpus, memory, fast) in enumerate(cloud)
        },
        reads=filter_driver().reads,
    )


def rank(host_table, rank_requests, packs, **bounds):
    driver = SolverDriver(filter_driver(), SolverLimits(packs=packs, work=AMPLE_WORK, limit_s=AMPLE_S, **bounds))
    with host_table.reading() as view:
        pending = driver.rank_batch(view, rank_requests)
    return pending()


def served_one_by_one(host_table, rank_requests, packs):
    """Return how many calls the driver serves one after the other, each with the earlier ones counted."""
    driver = SolverDriver(filter_driver(), SolverLimits(packs=packs))
    used = defaultdict(Counter)
    members, served = Counter(), 0
    for rank_request in rank_requests:
        request = rank_request.request
        if request.group is not None:
            full = tuple(name for name, count in members.items() if count >= request.group.max_per_host)
            decision = (
                DecisionContext(group_hosts=tuple(members))
                if request.is_affinity
                else DecisionContext(excluded_hosts=full)
            )
            request = SchedulingRequest(
                request.id, request.resources, request.required_traits, group=request.group, decision=decision
            )
            if request.group.policy in SOFT:
                request = SchedulingRequest(request.id, request.resources, request.required_traits)
        with host_table.reading() as view:
            ranking = driver.rank(view, request, rank_request.count, rank_request.seed)
        served += bool(ranking.candidates)
        for first, *_ in ranking.candidates:
            used[first].update(request.resources)
            members[first] += rank_request.request.group is not None
            host_table.apply_used({first: dict(used[first])}, 100)
    return served


def check(cloud, rank_requests, rankings):
    """Assert that the first candidates of all instances fit together; independent of the tested code."""
    used = defaultdict(Counter)
    members = Counter()
    for rank_request, ranking in zip(rank_requests, rankings, strict=True):
        if ranking is None or not ranking.candidates:
            continue
        assert len(ranking.candidates) == rank_request.count
        for first, *alternates in ranking.candidates:
            assert first not in alternates
            used[first].update(rank_request.request.resources)
            assert cloud[int(first[1:])][2] or not rank_request.request.required_traits
            members[first] += rank_request.request.group is not None
    for name, amounts in used.items():
        cpus, memory, _ = cloud[int(name[1:])]
        assert amounts["VCPU"] <= cpus and amounts["MEMORY_MB"] <= memory
    policies = {
        rank_request.request.group.policy for rank_request in rank_requests if rank_request.request.group is not None
    }
    if GroupPolicy.ANTI_AFFINITY in policies:
        assert max(members.values(), default=0) <= 1
    if GroupPolicy.AFFINITY in policies:
        assert len(+members) <= 1


@given(CLOUD, batches(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_solution_fits_and_keeps_group_policies(cloud, rank_requests, packs):
    check(cloud, rank_requests, rank(table(cloud), rank_requests, packs).rankings)


@given(CLOUD, batches(grouped=False), st.booleans())
@settings(max_examples=150, deadline=None)
def test_batch_serves_no_fewer_calls_than_single_ranking(cloud, rank_requests, packs):
    # With the minimum number of hosts, so that the batch's size determines how many are used
    result = rank(table(cloud), rank_requests, packs, hosts=1)
    assert sum(bool(ranking and ranking.candidates) for ranking in result.rankings) >= served_one_by_one(
        table(cloud), rank_requests, packs
    )


@given(CLOUD, batches(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_same_batch_gives_the_same_candidates(cloud, rank_requests, packs):
    first, second = (rank(table(cloud), rank_requests, packs) for _ in range(2))
    candidates = [
        [ranking.candidates if ranking else None for ranking in result.rankings] for result in (first, second)
    ]
    assert candidates[0] == candidates[1]
    assert first.unbatched == second.unbatched
