# SPDX-License-Identifier: Apache-2.0
"""Which keys of host state decisions read: what workers keep of it, and what agents are asked for."""

from collections.abc import Iterable, Mapping

from scheduler_svc.namespaces.registry import COMPOSED

Reads = Mapping[str, frozenset[str]]  # namespace -> top-level keys of its documents; in compute "metrics.<name>" too

NOTHING: Reads = {}
ALWAYS = "inventories"  # claims are made of them, whatever decides
CLAIMED = "used"  # the store's own sums, of which agents know nothing


def union(many: Iterable[Reads]) -> Reads:
    """Return what at least one of ``many`` reads."""
    found: dict[str, frozenset[str]] = {}
    for reads in many:
        for namespace, keys in reads.items():
            found[namespace] = found.get(namespace, frozenset()) | keys
    return found


def covers(kept: Reads, asked: Reads) -> bool:
    """Tell whether all of ``asked`` is among ``kept``."""
    return all(keys <= kept.get(namespace, frozenset()) for namespace, keys in asked.items())


def wanted(reads: Reads) -> list[str]:
    """Return the keys of a node's state that agents need to send; see rpcapi.objects.StatsAnswer."""
    return sorted({ALWAYS} | reads.get("compute", frozenset()) - {CLAIMED})


def kept(reads: Reads) -> list[str]:
    """Return the namespaces of which whole documents are read, as their writers put them."""
    return sorted(reads.keys() - set(COMPOSED))
