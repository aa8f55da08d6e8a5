# SPDX-License-Identifier: Apache-2.0
"""Volume pools: a moved server's volumes stay on their pools."""

from collections.abc import Iterator, Mapping, Sequence

from rpcapi import objects
from rpcapi.resources.names import host_of
from rpcapi.resources.trees.tree import Allocations

Amounts = Mapping[str, int]

MAX_TRIES = 10_000  # limit of the search, in assignments of a pool to a volume


def keep_pools(spec: objects.RequestSpec, host: str | None, allocations: Allocations | None) -> objects.RequestSpec:
    """Return ``spec`` with the request groups of existing volumes bound to their pools.

    A claim does not tell which group a pool serves, so groups are assigned to pools by matching amounts. Without a
    match, ``spec`` is returned unchanged.

    Args:
        host: Host of the server; None if it was offloaded.
        allocations: {provider: {class: amount}} of the server's last claim.
    """
    suffixes = [item["group"] for item in spec.volumes if item.get("group") in spec.groups]
    if not suffixes or not allocations:
        return spec
    volumes = {suffix: spec.groups[suffix].get("resources", {}) for suffix in suffixes}
    classes = {name for amounts in volumes.values() for name in amounts}
    pools = {
        provider: amounts
        for provider, amounts in allocations.items()
        if classes.issuperset(amounts) and (host is None or host_of(provider) != host_of(host))
    }
    free = {}
    for suffix, amounts in sorted(volumes.items(), key=lambda item: -sum(item[1].values())):
        pool = spec.groups[suffix].get("in_tree")
        if pool is None:
            free[suffix] = amounts
        elif pool in pools:
            pools[pool] = _subtract(pools[pool], amounts)
    pool_by_suffix = _assign(list(free.items()), pools, iter(range(MAX_TRIES)))
    if not pool_by_suffix:
        return spec
    groups = {suffix: {**spec.groups[suffix], "in_tree": pool} for suffix, pool in pool_by_suffix.items()}
    return spec.with_values(groups={**spec.groups, **groups})


def _assign(volumes: Sequence[tuple[str, Amounts]], pools: Allocations, tries: Iterator[int]) -> dict[str, str] | None:
    if not volumes:
        return None if any(amount for amounts in pools.values() for amount in amounts.values()) else {}
    suffix, volume = volumes[0]
    for pool, amounts in pools.items():
        rest = _subtract(amounts, volume)
        if any(amount < 0 for amount in rest.values()):
            continue
        if next(tries, None) is None:
            return None
        others = _assign(volumes[1:], {**pools, pool: rest}, tries)
        if others is not None:
            return {suffix: pool, **others}
    return None


def _subtract(amounts: Amounts, volume: Amounts) -> dict[str, int]:
    return {name: amounts.get(name, 0) - volume.get(name, 0) for name in {*amounts, *volume}}
