# SPDX-License-Identifier: Apache-2.0
"""Host state keys that decisions read. Workers store, and agents send, no other keys."""

from collections.abc import Iterable, Mapping

from scheduler_svc.core.namespaces.registry import COMPOSED

# Namespace -> top-level keys of its documents. Namespace "compute" also has keys "metrics.<name>".
Reads = Mapping[str, frozenset[str]]

NO_READS: Reads = {}
ALWAYS = "inventories"  # claims need it
CLAIMED = "used"  # sums of the store; agents never send them
# Reported counts to which workers add unreported claims, and the number of resizes from a host that Nova has not
# confirmed yet: their claims at the source have no instance.
INSTANCES, IO_OPS, UNCONFIRMED_RESIZES = "metrics.instances", "metrics.io_ops", "metrics.unconfirmed_resizes"


def union(read_sets: Iterable[Reads]) -> Reads:
    merged: dict[str, frozenset[str]] = {}
    for reads in read_sets:
        for namespace, keys in reads.items():
            merged[namespace] = merged.get(namespace, frozenset()) | keys
    if IO_OPS in merged.get("compute", ()):
        merged["compute"] |= {INSTANCES, UNCONFIRMED_RESIZES}
    return merged


def covers(available: Reads, required: Reads) -> bool:
    return all(keys <= available.get(namespace, frozenset()) for namespace, keys in required.items())


def required_keys(reads: Reads) -> list[str]:
    """Return the keys that agents must send; see rpcapi.objects.StatsAnswer."""
    return sorted({ALWAYS} | reads.get("compute", frozenset()) - {CLAIMED})


def whole_document_namespaces(reads: Reads) -> list[str]:
    """Return the namespaces whose documents are kept as written."""
    return sorted(reads.keys() - set(COMPOSED))
