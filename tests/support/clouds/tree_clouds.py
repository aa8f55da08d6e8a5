# SPDX-License-Identifier: Apache-2.0
"""Random clouds of provider trees with sharing pools, and their host table."""

from dataclasses import replace
from random import Random
from typing import Any

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT, Provider, ProviderInventory, ProviderTree, TreeRequest
from scheduler_svc.core.drivers.driver import Ranking
from scheduler_svc.core.records import Allocations, Snapshot
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from tests.support.clouds import trees
from tests.support.scheduler.hosts import EPOCH

HOSTS = ("h0", "h1", "h2")
POOLS = ("pool0", "pool1")
NAMES = ("h0", "h1/1", "pool0", "nowhere")  # possible values of a request's in_tree
READS = {"aggregate": frozenset({"hosts", "metadata"})}


class TreeCloud:
    """Trees of three hosts, two pools, and their host table."""

    def __init__(self, random: Random) -> None:
        self.trees = {
            host: [_rename_provider(provider, host) for provider in trees.tree(random).providers] for host in HOSTS
        }
        self.pools = []
        for name in POOLS:
            inventories, traits, aggregates = trees.shape(random)
            self.pools.append(Provider(name, None, inventories, traits | {SHARING_TRAIT}, aggregates))
        self.providers = [
            provider for tree_providers in self.trees.values() for provider in tree_providers
        ] + self.pools

    def table(self) -> HostTable:
        services = (*HOSTS, *POOLS)
        aggregates = {
            name: {"hosts": [provider.id for provider in self.providers if name in provider.aggregates]}
            for name in trees.AGGREGATES
        }
        return HostTable.from_snapshot(
            Snapshot(
                epoch=EPOCH,
                position=1,
                providers={provider.id: _provider_document(provider) for provider in self.providers},
                used={
                    provider.id: {name: stock.used for name, stock in provider.inventories.items()}
                    for provider in self.providers
                },
                services={name: {"enabled": True} for name in services},
                alive=dict.fromkeys(services, True),
                opened=dict.fromkeys(services, EPOCH),
                states={"aggregate": aggregates},
            ),
            reads=READS,
        )

    def tree(self, host: str) -> ProviderTree:
        """Return a host's or pool's tree, with the other pools that share an aggregate with one of its providers."""
        members = self.trees.get(host) or [provider for provider in self.pools if provider.id == host]
        aggregates: frozenset[str] = frozenset().union(*(provider.aggregates for provider in members))
        return ProviderTree(
            members, [provider for provider in self.pools if provider.aggregates & aggregates and provider.id != host]
        )


def request(tree_request: TreeRequest) -> SchedulingRequest:
    """Return the scheduling request of a tree request."""
    (unsuffixed, *_) = [group for group in tree_request.groups if not group.suffix] or [RequestGroup()]
    return SchedulingRequest(
        "r",
        unsuffixed.resources,
        unsuffixed.required,
        unsuffixed.forbidden,
        any_traits=unsuffixed.any_of,
        member_of=unsuffixed.member_of,
        forbidden_aggregates=unsuffixed.forbidden_aggregates,
        in_tree=unsuffixed.in_tree,
        groups=tuple(group for group in tree_request.groups if group.suffix),
        groups_policy=tree_request.policy,
        root_required=tree_request.root_required,
        root_forbidden=tree_request.root_forbidden,
        same_subtree=tree_request.same_subtree,
    )


def allocation_of(
    request: SchedulingRequest, ranking: Ranking, number: int, host: str
) -> frozenset[tuple[str, str, int]]:
    """Return a ranking's allocation of one instance on a host, as tuples."""
    allocations = ranking.allocations[number] if ranking.allocations else {}
    return flatten(allocations.get(host, {host: request.resources}))


def flatten(allocations: Allocations) -> frozenset[tuple[str, str, int]]:
    """Return allocations as (provider, class, amount) tuples."""
    return frozenset((name, *item) for name, amounts in allocations.items() for item in amounts.items())


def _rename_provider(provider: Provider, host: str) -> Provider:
    def name(text: str) -> str:
        return host + text.removeprefix("root")

    return replace(provider, id=name(provider.id), parent=provider.parent and name(provider.parent))


def _provider_document(provider: Provider) -> dict[str, Any]:
    root = provider.id.partition("/")[0]
    return {
        "id": provider.id,
        "root": root,
        "parent": provider.parent,
        "host": root,
        "kind": "volume" if root in POOLS else "compute",
        "inventories": {name: _inventory(stock) for name, stock in provider.inventories.items()},
        "traits": sorted(trees.traits_of(provider)),
    }


def _inventory(stock: ProviderInventory) -> dict[str, int]:
    return Inventory(stock.capacity, 0, stock.min_unit, stock.max_unit, stock.step_size).as_dict()
