# SPDX-License-Identifier: Apache-2.0
"""Batches on tables: what the solver gives fits, keeps groups' policies, and serves no fewer than one by one."""

from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.model.claims import GroupPolicy
from scheduler_svc.drivers.driver import RankRequest
from scheduler_svc.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.request import SchedulingRequest
from scheduler_svc.store.records import ClaimGroup
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.sights import filter_driver

LONG_S = 20.0  # far more than such small batches take
AMOUNTS = st.fixed_dictionaries({"VCPU": st.integers(1, 4)}, optional={"MEMORY_MB": st.integers(1, 4)})
CLOUD = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.booleans()), min_size=1, max_size=6)
SOFT = (GroupPolicy.SOFT_AFFINITY, GroupPolicy.SOFT_ANTI_AFFINITY)


@st.composite
def batches(draw, grouped=True):
    groups = [ClaimGroup("pets", draw(st.sampled_from(list(GroupPolicy))), 1)] if grouped else []
    wanted = []
    for number in range(draw(st.integers(1, 6))):
        group = draw(st.sampled_from([None, *groups]))
        traits = ("CUSTOM_FAST",) if draw(st.booleans()) else ()
        asked = SchedulingRequest(f"req-{number}", draw(AMOUNTS), required_traits=traits, group=group)
        wanted.append(RankRequest(asked, draw(st.integers(1, 3)), number))
    return wanted


def table(cloud):
    return hosts.table(
        {
            f"h{number}": hosts.node({"VCPU": cpus, "MEMORY_MB": memory}, ["CUSTOM_FAST"] if fast else [])
            for number, (cpus, memory, fast) in enumerate(cloud)
        },
        reads=filter_driver().reads,
    )


def rank(made, wanted, packs, **bounds):
    driver = SolverDriver(filter_driver(), SolverLimits(packs=packs, limit_s=LONG_S, **bounds))
    with made.reading() as view:
        pending = driver.rank_batch(view, wanted)
    return pending()


def served_one_by_one(made, wanted, packs):
    """How many of the calls the driver serves when each knows what was given before."""
    driver = SolverDriver(filter_driver(), SolverLimits(packs=packs))
    used = defaultdict(Counter)
    members, served = Counter(), 0
    for each in wanted:
        request = each.request
        if request.group is not None:
            full = tuple(name for name, count in members.items() if count >= request.group.max_per_host)
            known = {"beside": tuple(members)} if request.is_affinity else {"ruled_out": full}
            request = SchedulingRequest(
                request.id, request.resources, request.required_traits, group=request.group, **known
            )
            if request.group.policy in SOFT:
                request = SchedulingRequest(request.id, request.resources, request.required_traits)
        with made.reading() as view:
            ranking = driver.rank(view, request, each.count, each.seed)
        served += bool(ranking.candidates)
        for first, *_ in ranking.candidates:
            used[first].update(request.resources)
            members[first] += each.request.group is not None
            made.apply_used({first: dict(used[first])}, 100)
    return served


def check(cloud, wanted, rankings):
    """Does what comes first for each instance fit, with all the others? Written apart from what it judges."""
    used = defaultdict(Counter)
    members = Counter()
    for each, ranking in zip(wanted, rankings, strict=True):
        if ranking is None or not ranking.candidates:
            continue
        assert len(ranking.candidates) == each.count
        for first, *others in ranking.candidates:
            assert first not in others
            used[first].update(each.request.resources)
            assert cloud[int(first[1:])][2] or not each.request.required_traits
            members[first] += each.request.group is not None
    for name, amounts in used.items():
        cpus, memory, _ = cloud[int(name[1:])]
        assert amounts["VCPU"] <= cpus and amounts["MEMORY_MB"] <= memory
    policies = {each.request.group.policy for each in wanted if each.request.group is not None}
    if GroupPolicy.ANTI_AFFINITY in policies:
        assert max(members.values(), default=0) <= 1
    if GroupPolicy.AFFINITY in policies:
        assert len(+members) <= 1


@given(CLOUD, batches(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_given_fits_and_keeps_the_groups_policy(cloud, wanted, packs):
    check(cloud, wanted, rank(table(cloud), wanted, packs).rankings)


@given(CLOUD, batches(grouped=False), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_fewer_are_served_than_one_by_one(cloud, wanted, packs):
    # The least number of hosts is looked at, so that it is the batch's size that makes them enough
    ranked = rank(table(cloud), wanted, packs, hosts=1)
    assert sum(bool(one and one.candidates) for one in ranked.rankings) >= served_one_by_one(
        table(cloud), wanted, packs
    )


@given(CLOUD, batches(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_same_batch_is_given_the_same(cloud, wanted, packs):
    first, again = (rank(table(cloud), wanted, packs) for _ in range(2))
    told = [[one.candidates if one else None for one in each.rankings] for each in (first, again)]
    assert told[0] == told[1]
    assert first.unbatched == again.unbatched
