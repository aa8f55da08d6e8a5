# SPDX-License-Identifier: Apache-2.0
"""Size limits in bytes of a store's collections, compared with the last result of ``sizes``.

A full collection refuses only calls that add to it. Verbs that end, confirm or find claims pass, and so do audits,
reports of known hosts, repeated calls and replacements. Telling these apart costs a read, but only at the limit.
"""

from collections.abc import Mapping

from rpcapi.bounds import Bound, StoreBounds

CLAIMS, TOMBSTONES, PINS, HOSTS, DOCUMENTS, LOG = "claims", "tombstones", "pins", "hosts", "documents", "log"
# {collection: option in [store]}
OPTIONS = {
    CLAIMS: "claim_bytes",
    TOMBSTONES: "tombstone_bytes",
    PINS: "pin_bytes",
    HOSTS: "host_bytes",
    DOCUMENTS: "document_bytes",
    LOG: "log_bytes",
    "decisions": "decision_bytes",
}
# {collection: its mappings in PartitionStorage}. The first mapping gives the number of entries; all count for the size.
MAPPINGS = {
    CLAIMS: ("claims", "sources", "deadlines", "groups", "unverified", "holders", "tallies"),
    TOMBSTONES: ("ended", "ended_at"),
    PINS: ("pins",),
    HOSTS: (
        *("providers", "capacity", "used", "changed", "eligible", "built", "excess"),
        *("generations", "provider_names", "children"),
        *("services", "reports", "beats", "alive", "opened", "awaited", "clock_offsets"),
    ),
}
ROTATES = frozenset({LOG, "decisions"})  # collections that drop their oldest entries at the limit


def store_bounds(partition: str, sizes: Mapping[str, int]) -> StoreBounds:
    return StoreBounds(
        f"The store of partition {partition!r}",
        {name: Bound(size, f"[store] {OPTIONS[name]}", name in ROTATES) for name, size in sizes.items()},
    )
