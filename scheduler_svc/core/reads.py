# SPDX-License-Identifier: Apache-2.0
"""The keys of host state that decisions read: workers keep only these, and agents send only these."""

from collections.abc import Iterable, Mapping

from scheduler_svc.core.namespaces.registry import COMPOSED

Reads = Mapping[str, frozenset[str]]  # namespace -> top-level keys of its documents; in compute "metrics.<name>" too

NO_READS: Reads = {}
ALWAYS = "inventories"  # always read: claims need them
CLAIMED = "used"  # the store's own sums, which agents do not send


def union(read_sets: Iterable[Reads]) -> Reads:
    """Return the union of ``read_sets``."""
    merged: dict[str, frozenset[str]] = {}
    for reads in read_sets:
        for namespace, keys in reads.items():
            merged[namespace] = merged.get(namespace, frozenset()) | keys
    return merged


def covers(available: Reads, required: Reads) -> bool:
    """Return whether ``available`` has all of ``required``."""
    return all(keys <= available.get(namespace, frozenset()) for namespace, keys in required.items())


def required_keys(reads: Reads) -> list[str]:
    """Return the keys of a node's state that agents need to send; see rpcapi.objects.StatsAnswer."""
    return sorted({ALWAYS} | reads.get("compute", frozenset()) - {CLAIMED})


def whole_document_namespaces(reads: Reads) -> list[str]:
    """Return the namespaces whose documents are kept whole, as their writers stored them."""
    return sorted(reads.keys() - set(COMPOSED))
