# SPDX-License-Identifier: Apache-2.0
"""Queries of live claims, which first expire overdue claims."""

from collections.abc import Sequence

from scheduler_svc.core.records import Claim
from scheduler_svc.store.verbs.contents import ALL
from scheduler_svc.store.verbs.members import node_of
from scheduler_svc.store.verbs.moves import source_host_of
from scheduler_svc.store.verbs.partition import NEVER_MS, PartitionState
from scheduler_svc.store.verbs.whole_partition import WholePartition


def page(
    partition: WholePartition, now: int, host: str | None, consumer: str | None, *, marker: str | None, limit: int
) -> tuple[list[Claim], str | None]:
    partition.expire(now)
    return partition.page_of_claims(host, consumer, marker, limit)


def prepared(partition: PartitionState, now: int, limit: int) -> list[Claim]:
    partition.expire(now, ALL)
    consumers = partition.due_consumers(NEVER_MS, limit)
    partition.prefetch(consumers=consumers)
    return [partition.claims[consumer] for consumer in consumers]


def group_hosts(partition: PartitionState, now: int, group_id: str) -> dict[str, int]:
    partition.expire(now, ALL)
    return dict(partition.groups.get(group_id, {}))


def hosts_of(partition: PartitionState, now: int, consumers: Sequence[str]) -> dict[str, str]:
    partition.prefetch(consumers=consumers)
    live_claims = {consumer: partition.live_claim(consumer, now) for consumer in consumers}
    return {consumer: node_of(partition, claim) for consumer, claim in live_claims.items() if claim is not None}


def sources_of(partition: PartitionState, _now: int, consumers: Sequence[str], group_id: str) -> dict[str, str]:
    partition.prefetch(consumers=consumers)
    sources = {consumer: source_host_of(partition, consumer, group_id) for consumer in consumers}
    return {consumer: host for consumer, host in sources.items() if host is not None}
