# SPDX-License-Identifier: Apache-2.0
"""Size limits of a store's collections, in bytes, compared with the last result of ``sizes``.

A limit never blocks what safety needs: verbs that end, confirm or find something, audits, and reports of known hosts.
Nor does it block what adds nothing: repeated calls, replaced claims, existing pins, documents that do not grow. Telling
these apart costs a read, but only at the limit.
"""

from collections.abc import Mapping

from rpcapi.bounds import Bound, StoreBounds

CLAIMS, TOMBSTONES, PINS, HOSTS, DOCUMENTS, LOG = "claims", "tombstones", "pins", "hosts", "documents", "log"
# Collection -> option in group [store].
OPTIONS = {
    CLAIMS: "claim_bytes",
    TOMBSTONES: "tombstone_bytes",
    PINS: "pin_bytes",
    HOSTS: "host_bytes",
    DOCUMENTS: "document_bytes",
    LOG: "log_bytes",
    "decisions": "decision_bytes",
}
ROTATES = frozenset({LOG, "decisions"})  # drop their oldest entries at the limit


def store_bounds(partition: str, sizes: Mapping[str, int]) -> StoreBounds:
    """Return the limits of a partition's store; ``sizes`` are bytes by collection."""
    return StoreBounds(
        f"The store of partition {partition!r}",
        {name: Bound(size, f"[store] {OPTIONS[name]}", name in ROTATES) for name, size in sizes.items()},
    )
