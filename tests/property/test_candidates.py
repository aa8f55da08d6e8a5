# SPDX-License-Identifier: Apache-2.0
"""Candidates and their allocations from the host table, against an oracle that tries every way in every tree."""

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.model.inventory import Inventory
from rpcapi.model.trees import SHARES, Provider, Tree
from scheduler_svc.candidates.ranking import rank
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.filters import pipeline
from scheduler_svc.request import Request
from scheduler_svc.store.records import Snapshot
from scheduler_svc.table.table import HostTable
from scheduler_svc.weighers import scoring
from tests.property import trees
from tests.property.test_tree_search import frozen
from tests.property.trees import every_way
from tests.unit.scheduler_svc.hosts import EPOCH

HOSTS = ("h0", "h1", "h2")
POOLS = ("pool0", "pool1")
READS = {"aggregate": frozenset({"hosts", "metadata"})}
DRIVER = FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build({}))


class Cloud:
    """Trees of three hosts, two pools, and the table that is made of them."""

    def __init__(self, random):
        self.trees = {host: [_named(each, host) for each in trees.tree(random).providers] for host in HOSTS}
        self.pools = [Provider(name, None, *trees.shape(random)) for name in POOLS]
        every = [each for its in self.trees.values() for each in its] + self.pools
        told = {each.id: self._told(each) for each in every}
        aggregates = {
            name: {"hosts": [each.id for each in every if name in each.aggregates]} for name in trees.AGGREGATES
        }
        services = (*HOSTS, *POOLS)
        self.table = HostTable.from_snapshot(
            Snapshot(
                epoch=EPOCH,
                position=1,
                providers=told,
                used={each.id: {name: stock.used for name, stock in each.stocks.items()} for each in every},
                services={name: {"enabled": True} for name in services},
                alive=dict.fromkeys(services, True),
                opened=dict.fromkeys(services, EPOCH),
                states={"aggregate": aggregates},
            ),
            reads=READS,
        )

    def tree(self, host):
        """Return a host's tree with the pools that share an aggregate with one of its members."""
        named = frozenset().union(*(each.aggregates for each in self.trees[host]))
        pools = [replace(each, traits=each.traits | {SHARES}) for each in self.pools if each.aggregates & named]
        return Tree(self.trees[host], pools)

    def _told(self, each):
        root = each.id.partition("/")[0]
        inventories = {name: Inventory(stock.capacity, 0, *stock[2:]).as_dict() for name, stock in each.stocks.items()}
        traits = sorted(each.traits | ({SHARES} if root in POOLS else set()))
        return {
            **{"id": each.id, "root": root, "parent": each.parent, "host": root},
            **{"kind": "volume" if root in POOLS else "compute", "inventories": inventories, "traits": traits},
        }


def _named(each, host):
    def name(text):
        return text and host + text.removeprefix("root")

    return replace(each, id=name(each.id), parent=name(each.parent))


def request(wanted):
    (own, *_) = [each for each in wanted.groups if not each.suffix] or [trees.RequestGroup()]
    return Request(
        "r",
        own.resources,
        own.required,
        own.forbidden,
        any_traits=own.any_of,
        member_of=own.member_of,
        forbidden_aggregates=own.forbidden_aggregates,
        in_tree=own.in_tree,
        groups=tuple(each for each in wanted.groups if each.suffix),
        groups_policy=wanted.policy,
        root_required=wanted.root_required,
        root_forbidden=wanted.root_forbidden,
        same_subtree=wanted.same_subtree,
    )


def allocations(asked, ranking, number, host):
    its = ranking.allocations[number] if ranking.allocations else {}
    return its.get(host, {host: asked.resources})


def flat(given):
    return frozenset((name, *item) for name, amounts in given.items() for item in amounts.items())


@st.composite
def questions(draw):
    random = Random(draw(st.integers(0, 2**32)))
    return Cloud(random), trees.wanted(random, ("h0", "h1/1", "pool0", "nowhere"))


@settings(max_examples=150, deadline=None)
@given(questions())
def test_the_hosts_are_those_whose_trees_serve_and_their_allocations_are_ways_to(question):
    cloud, wanted = question
    asked = request(wanted)
    ways = {host: {frozen(each) for each in every_way(cloud.tree(host), wanted)} for host in HOSTS}
    with cloud.table.reading() as view:
        ranking = rank(DRIVER, view, asked, 1, 1)
    given = {host: flat(allocations(asked, ranking, 0, host)) for names in ranking.candidates for host in names}
    assert given.keys() == {host for host in HOSTS if ways[host]}
    assert all(given[host] in ways[host] for host in given)
    assert sum(ranking.reasons.values()) == len(HOSTS) - len(given)


@settings(max_examples=80, deadline=None)
@given(questions(), st.integers(2, 5))
def test_what_the_instances_of_one_call_are_given_fits_together(question, count):
    cloud, wanted = question
    asked = request(wanted)
    with cloud.table.reading() as view:
        ranking = rank(DRIVER, view, asked, count, 1)
    given = Counter()
    for number, names in enumerate(ranking.candidates):
        for name, amounts in allocations(asked, ranking, number, names[0]).items():
            given.update({(name, resource_class): amount for resource_class, amount in amounts.items()})
        for host in names:
            assert flat(allocations(asked, ranking, number, host)) in {
                frozen(each) for each in every_way(cloud.tree(host), wanted)
            }
    stocks = {each.id: each.stocks for its in (*cloud.trees.values(), cloud.pools) for each in its}
    for (name, resource_class), amount in given.items():
        stock = stocks[name][resource_class]
        assert amount <= stock.capacity - stock.used
    if not ranking.candidates:
        assert sum(ranking.reasons.values()) == len(HOSTS)
