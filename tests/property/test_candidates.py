# SPDX-License-Identifier: Apache-2.0
"""Candidates and their allocations from the host table, against an oracle that tries every way in every tree."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.candidates.ranking import rank
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.filters import pipeline
from scheduler_svc.weighers import scoring
from tests.property import tree_clouds, trees
from tests.property.tree_clouds import HOSTS, TreeCloud, flatten
from tests.property.trees import all_candidates

DRIVER = FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build({}))


@st.composite
def clouds_and_requests(draw):
    random = Random(draw(st.integers(0, 2**32)))
    return TreeCloud(random), trees.tree_request(random, tree_clouds.NAMES)


def rank_instances(cloud, asked, count):
    with cloud.table().reading() as view:
        return rank(DRIVER, view, asked, count, 1)


@settings(max_examples=150, deadline=None)
@given(clouds_and_requests())
def test_the_hosts_are_those_whose_trees_serve_and_their_allocations_are_ways_to(question):
    cloud, wanted = question
    asked = tree_clouds.request(wanted)
    ways = {host: {flatten(each.allocations) for each in all_candidates(cloud.tree(host), wanted)} for host in HOSTS}
    ranking = rank_instances(cloud, asked, 1)
    found = {host: tree_clouds.allocation_of(asked, ranking, 0, host) for names in ranking.candidates for host in names}
    assert found.keys() == {host for host in HOSTS if ways[host]}
    assert all(found[host] in ways[host] for host in found)
    assert sum(ranking.reasons.values()) == len(HOSTS) - len(found)


@settings(max_examples=80, deadline=None)
@given(clouds_and_requests(), st.integers(2, 5))
def test_what_the_instances_of_one_call_are_given_fits_together(question, count):
    cloud, wanted = question
    asked = tree_clouds.request(wanted)
    ways = {host: {flatten(each.allocations) for each in all_candidates(cloud.tree(host), wanted)} for host in HOSTS}
    ranking = rank_instances(cloud, asked, count)
    sums = Counter()
    for number, names in enumerate(ranking.candidates):
        for name, resource_class, amount in tree_clouds.allocation_of(asked, ranking, number, names[0]):
            sums[name, resource_class] += amount
        assert all(tree_clouds.allocation_of(asked, ranking, number, host) in ways[host] for host in names)
    stocks = {each.id: each.inventories for each in cloud.every}
    for (name, resource_class), amount in sums.items():
        stock = stocks[name][resource_class]
        assert amount <= stock.capacity - stock.used
    if not ranking.candidates:
        assert sum(ranking.reasons.values()) == len(HOSTS)
