# SPDX-License-Identifier: Apache-2.0
"""Candidates and their allocations from the host table, against an oracle that tries all combinations in every tree."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.core.trees.ranking import rank
from tests.support.clouds import tree_clouds, trees
from tests.support.clouds.filtering import DRIVER
from tests.support.clouds.tree_clouds import HOSTS, TreeCloud, flatten
from tests.support.clouds.trees import all_candidates


@st.composite
def clouds_and_requests(draw):
    random = Random(draw(st.integers(0, 2**32)))
    return TreeCloud(random), trees.tree_request(random, tree_clouds.NAMES)


def rank_instances(cloud, request, count):
    with cloud.table().reading() as view:
        return rank(DRIVER, view, request, count, 1)


@settings(max_examples=150, deadline=None)
@given(clouds_and_requests())
def test_ranked_hosts_have_valid_allocations_and_others_have_none(cloud_and_request):
    cloud, tree_request = cloud_and_request
    request = tree_clouds.request(tree_request)
    valid_allocations = {
        host: {flatten(candidate.allocations) for candidate in all_candidates(cloud.tree(host), tree_request)}
        for host in HOSTS
    }
    ranking = rank_instances(cloud, request, 1)
    allocations = {
        host: tree_clouds.allocation_of(request, ranking, 0, host) for names in ranking.candidates for host in names
    }
    assert allocations.keys() == {host for host in HOSTS if valid_allocations[host]}
    assert all(allocations[host] in valid_allocations[host] for host in allocations)
    assert sum(ranking.reasons.values()) == len(HOSTS) - len(allocations)


@settings(max_examples=80, deadline=None)
@given(clouds_and_requests(), st.integers(2, 5))
def test_allocations_of_one_call_fit_together(cloud_and_request, count):
    cloud, tree_request = cloud_and_request
    request = tree_clouds.request(tree_request)
    valid_allocations = {
        host: {flatten(item.allocations) for item in all_candidates(cloud.tree(host), tree_request)} for host in HOSTS
    }
    ranking = rank_instances(cloud, request, count)
    sums = Counter()
    for number, names in enumerate(ranking.candidates):
        for name, resource_class, amount in tree_clouds.allocation_of(request, ranking, number, names[0]):
            sums[name, resource_class] += amount
        assert all(
            tree_clouds.allocation_of(request, ranking, number, host) in valid_allocations[host] for host in names
        )
    stocks = {item.id: item.inventories for item in cloud.providers}
    for (name, resource_class), amount in sums.items():
        stock = stocks[name][resource_class]
        assert amount <= stock.capacity - stock.used
    if not ranking.candidates:
        assert sum(ranking.reasons.values()) == len(HOSTS)
