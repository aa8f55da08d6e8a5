# SPDX-License-Identifier: Apache-2.0
"""Nodes on which claims count as group members. Keep in sync with _members.lua and _group_policy.lua."""

from collections import Counter

from rpcapi.resources import names
from scheduler_svc.core.records import Claim, ClaimBatch
from scheduler_svc.store.allocations import is_api_claim
from scheduler_svc.store.verbs.partition import PartitionState


def node_of(partition: PartitionState, claim: Claim) -> str:
    """Return the node of a claim; for an API-owned claim, the first of its root providers by id."""
    return claim.host if claim.host != names.API_HOST else min(_hosts_of(partition, claim))


def count_members(partition: PartitionState, batch: ClaimBatch, now: int) -> dict[str, int]:
    """Return {node: number of members} of the batch's group, without the batch's own intents.

    Members are the group's live claims, and the members that the caller names.
    """
    if batch.group is None:
        return {}
    members = Counter(partition.groups.get(batch.group.id, {}))
    consumers = set(batch.group_members.consumers) - {intent.consumer for intent in batch.intents}
    for claim in (partition.claims.get(consumer) for consumer in sorted(consumers)):
        names_group = claim is not None and claim.group is not None and claim.group.id == batch.group.id
        if claim is not None and not names_group and not partition.is_expired(claim, now):
            members.update(_hosts_of(partition, claim))
    for host in batch.group_members.hosts:
        members[host] = max(members[host], 1)
    return dict(members)


def _hosts_of(partition: PartitionState, claim: Claim) -> set[str]:
    """Return the nodes on which a claim counts; for an API-owned claim, the roots of all its providers."""
    if not is_api_claim(claim):
        return {claim.host}
    return {partition.providers.get(provider, {}).get("root", provider) for provider in claim.allocations}
