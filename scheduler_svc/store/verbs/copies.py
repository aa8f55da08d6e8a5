# SPDX-License-Identifier: Apache-2.0
"""Copies of a whole partition, for replicas and verification."""

from collections.abc import Iterable

from scheduler_svc.core.records import Snapshot
from scheduler_svc.store import tallies
from scheduler_svc.store.providers.changes import is_api_owned
from scheduler_svc.store.verbs.whole_partition import WholePartition
from scheduler_svc.store.verification import StoreDump


def snapshot(partition: WholePartition, namespaces: Iterable[str]) -> Snapshot:
    return Snapshot(
        epoch=partition.epoch,
        position=partition.position,
        **{name: partition.whole(name) for name in ("providers", "used", "services", "alive")},
        opened={host: max(0, epoch) for host, epoch in partition.whole("opened").items()},
        states={namespace: partition.documents(namespace) for namespace in namespaces},
    )


def dump(partition: WholePartition) -> StoreDump:
    sums = tallies.flat(partition.whole("tallies"))
    mappings = ("capacity", "used", "groups", "deadlines", "unverified", "sources", "provider_names", "opened")
    return StoreDump(
        epoch=partition.epoch,
        position=partition.position,
        **{name: partition.whole(name) for name in mappings},
        claims=list(partition.whole("claims").values()),
        holders=list(partition.whole("holders")),
        tallies=sums,
        tallied=set(sums),
        children={(above, child) for above, below in partition.whole("children").items() for child in below},
        api_providers={
            name: document for name, document in partition.whole("providers").items() if is_api_owned(document)
        },
        by_host=partition.claim_locations(),
        awaited=list(partition.whole("awaited")),
        excess={
            (name, resource_class): since + partition.lead_ms
            for name, over in partition.whole("excess").items()
            for resource_class, since in over.items()
        },
    )
