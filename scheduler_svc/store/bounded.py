# SPDX-License-Identifier: Apache-2.0
"""The bounds of a store's collections, in bytes.

They are compared with the last result of ``sizes``. Verbs that end, confirm or find something, audits, and the reports
of hosts that the store knows are served at any size: a bound removes nothing that safety needs. So is what makes no
collection grow: repeated calls, a claim in place of another one, pins that are stored, and documents that do not become
longer. Only at a bound this costs a read.
"""

from collections.abc import Mapping

from rpcapi.bounds import Bound, StoreBounds

CLAIMS, TOMBSTONES, PINS, HOSTS, DOCUMENTS, LOG = "claims", "tombstones", "pins", "hosts", "documents", "log"
# Options of group [store] by collection.
OPTIONS = {
    CLAIMS: "claim_bytes",
    TOMBSTONES: "tombstone_bytes",
    PINS: "pin_bytes",
    HOSTS: "host_bytes",
    DOCUMENTS: "document_bytes",
    LOG: "log_bytes",
    "decisions": "decision_bytes",
}
ROTATES = frozenset({LOG, "decisions"})  # at the bound the oldest are removed: nothing needs them


def store_bounds(partition: str, sizes: Mapping[str, int]) -> StoreBounds:
    """Return the bounds of a partition's store; ``sizes`` are in bytes, by collection."""
    return StoreBounds(
        f"The store of partition {partition!r}",
        {name: Bound(size, f"[store] {OPTIONS[name]}", name in ROTATES) for name, size in sizes.items()},
    )
