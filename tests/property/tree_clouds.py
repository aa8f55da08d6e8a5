# SPDX-License-Identifier: Apache-2.0
"""Random clouds of provider trees and pools that share with them, and the host table made of one."""

from dataclasses import replace

from rpcapi.model.inventory import Inventory
from rpcapi.model.trees import SHARING_TRAIT, Provider, ProviderTree
from scheduler_svc.request import SchedulingRequest
from scheduler_svc.store.records import Snapshot
from scheduler_svc.table.table import HostTable
from tests.property import trees
from tests.unit.scheduler_svc.hosts import EPOCH

HOSTS = ("h0", "h1", "h2")
POOLS = ("pool0", "pool1")
NAMES = ("h0", "h1/1", "pool0", "nowhere")  # what requests may name a tree by
READS = {"aggregate": frozenset({"hosts", "metadata"})}


class TreeCloud:
    """Trees of three hosts, two pools, and the table that is made of them."""

    def __init__(self, random):
        self.trees = {host: [_rename_provider(each, host) for each in trees.tree(random).providers] for host in HOSTS}
        self.pools = [Provider(name, None, *trees.shape(random)) for name in POOLS]
        self.pools = [replace(each, traits=each.traits | {SHARING_TRAIT}) for each in self.pools]
        self.every = [each for its in self.trees.values() for each in its] + self.pools

    def table(self):
        """Return the host table."""
        services = (*HOSTS, *POOLS)
        aggregates = {
            name: {"hosts": [each.id for each in self.every if name in each.aggregates]} for name in trees.AGGREGATES
        }
        return HostTable.from_snapshot(
            Snapshot(
                epoch=EPOCH,
                position=1,
                providers={each.id: _provider_document(each) for each in self.every},
                used={each.id: {name: stock.used for name, stock in each.inventories.items()} for each in self.every},
                services={name: {"enabled": True} for name in services},
                alive=dict.fromkeys(services, True),
                opened=dict.fromkeys(services, EPOCH),
                states={"aggregate": aggregates},
            ),
            reads=READS,
        )

    def tree(self, host):
        """Return a host's tree, or a pool's, with the other pools that share an aggregate with one of its members."""
        members = self.trees.get(host) or [each for each in self.pools if each.id == host]
        named = frozenset().union(*(each.aggregates for each in members))
        return ProviderTree(members, [each for each in self.pools if each.aggregates & named and each.id != host])


def request(wanted):
    """Return the request that asks for what is wanted of a tree."""
    (own, *_) = [each for each in wanted.groups if not each.suffix] or [trees.RequestGroup()]
    return SchedulingRequest(
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


def allocation_of(asked, ranking, number, host):
    """Return what a ranking gives one instance at a host, as tuples."""
    its = ranking.allocations[number] if ranking.allocations else {}
    return flatten(its.get(host, {host: asked.resources}))


def flatten(allocations):
    """Return allocations as tuples of provider, class and amount."""
    return frozenset((name, *item) for name, amounts in allocations.items() for item in amounts.items())


def _rename_provider(each, host):
    def name(text):
        return text and host + text.removeprefix("root")

    return replace(each, id=name(each.id), parent=name(each.parent))


def _provider_document(each):
    root = each.id.partition("/")[0]
    return {
        "id": each.id,
        "root": root,
        "parent": each.parent,
        "host": root,
        "kind": "volume" if root in POOLS else "compute",
        "inventories": {name: _inventory(stock) for name, stock in each.inventories.items()},
        "traits": sorted(each.traits),
    }


def _inventory(stock):
    return Inventory(stock.capacity, 0, stock.min_unit, stock.max_unit, stock.step_size).as_dict()
