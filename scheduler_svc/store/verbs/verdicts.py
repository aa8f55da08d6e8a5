# SPDX-License-Identifier: Apache-2.0
"""Verdicts on candidates, from the partition and a batch's planned changes. Keep in sync with _judge.lua."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rpcapi.resources import names
from rpcapi.resources.claims import GroupPolicy, Verdict
from scheduler_svc.core.records import (
    CLAIMS,
    FOREIGN_CLAIMS,
    Allocations,
    Candidate,
    Claim,
    ClaimBatch,
    ClaimRef,
)
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.pinning import has_left


@dataclass
class PreparePlan:
    """Changes planned so far for a batch.

    Attributes:
        members: {node: number of group members before the batch}.
        deltas: {(provider, class): change of the used sum}.
        claim_deltas: {node: change of the number of claims}.
        member_deltas: {node: change of the number of group members}.
        replaced: Claims to end.
        former: {consumer: claim that a final claim extends}.
        forgotten: Attempts to replace that the store does not know.
        source_host: Node on which the current instance already counts as a member, by the source of its move.
    """

    members: Mapping[str, int] = field(default_factory=dict)
    deltas: dict[tuple[str, str], int] = field(default_factory=dict)
    claim_deltas: dict[str, int] = field(default_factory=dict)
    member_deltas: dict[str, int] = field(default_factory=dict)
    replaced: list[Claim] = field(default_factory=list)
    former: dict[str, Claim] = field(default_factory=dict)
    forgotten: list[ClaimRef] = field(default_factory=list)
    new_claims: list[Claim] = field(default_factory=list)
    source_host: str | None = None

    def add(self, claim: Claim, sign: int, batch: ClaimBatch) -> None:
        for provider, amounts in claim.allocations.items():
            for resource_class, amount in amounts.items():
                key = (provider, resource_class)
                self.deltas[key] = self.deltas.get(key, 0) + sign * amount
        self.claim_deltas[claim.host] = self.claim_deltas.get(claim.host, 0) + sign
        if batch.group and claim.group and claim.group.id == batch.group.id:
            self.member_deltas[claim.host] = self.member_deltas.get(claim.host, 0) + sign


def required_allocations(batch: ClaimBatch, candidate: Candidate) -> Allocations:
    """Return one instance's allocations on a candidate: {provider: {class: amount}}."""
    return {candidate.host: batch.resources} if candidate.allocations is None else candidate.allocations


def judge(partition: PartitionState, batch: ClaimBatch, candidate: Candidate, plan: PreparePlan) -> Verdict:
    """Return FITS, or why the candidate cannot be claimed after the planned changes."""
    required = required_allocations(batch, candidate)
    if candidate.host not in partition.capacity:
        return Verdict.UNKNOWN
    is_stale = any(partition.eligible.get(name, 0) > batch.position for name in related_names(candidate.host, required))
    if not _has_inventories(partition, required):
        # A stale decision may name a provider that has been removed since.
        return Verdict.STALE if is_stale else Verdict.UNKNOWN
    if not all(partition.is_open(provider) for provider in (candidate.host, *required)):
        return Verdict.CLOSED
    if is_stale:
        return Verdict.STALE
    if not all(_fits(partition, provider, amounts, plan) for provider, amounts in required.items()):
        return Verdict.CONCURRENT if has_changed(partition, batch, candidate) else Verdict.FULL
    return _judge_rules(partition, batch, candidate, required, plan)


def _judge_rules(
    partition: PartitionState, batch: ClaimBatch, candidate: Candidate, required: Allocations, plan: PreparePlan
) -> Verdict:
    """Return FITS, or which rule besides capacity forbids the candidate."""
    host = candidate.host
    used, delta = partition.used.get(host, {}), plan.claim_deltas.get(host, 0)
    builds = max(0, used.get(CLAIMS, 0) - used.get(FOREIGN_CLAIMS, 0) - partition.built.get(host, 0))
    numbers = zip(candidate.limits, (used.get(CLAIMS, 0), builds), strict=True)
    if any(limit is not None and number + delta >= limit for limit, number in numbers):
        return Verdict.LIMIT
    if _may_be_rejoined(partition, batch):
        return Verdict.CLOSED
    if not _group_allows(partition, batch, host, plan):
        return Verdict.GROUP
    return Verdict.CLOSED if _awaits_audits(partition, batch, host, required, plan) else Verdict.FITS


def related_names(host: str, required: Allocations) -> set[str]:
    """Return the keys of ``eligible`` that concern a candidate: its node, its providers, and their service hosts."""
    involved = {host, *required}
    return involved | {names.host_of(name) for name in involved}


def has_changed(partition: PartitionState, batch: ClaimBatch, candidate: Candidate) -> bool:
    """Return whether the used sums or inventories of the candidate's providers have changed since the decision."""
    decided_at = candidate.sums_position or batch.position
    return any(partition.changed.get(provider, 0) > decided_at for provider in required_allocations(batch, candidate))


def _has_inventories(partition: PartitionState, required: Allocations) -> bool:
    return all(
        resource_class in partition.capacity.get(provider, {})
        for provider, amounts in required.items()
        for resource_class in amounts
    )


def _fits(partition: PartitionState, provider: str, amounts: Mapping[str, int], plan: PreparePlan) -> bool:
    capacities, used = partition.capacity[provider], partition.used.get(provider, {})
    for resource_class, amount in amounts.items():
        unit = capacities[resource_class]
        capacity, least, most, step = (unit, 1, unit, 1) if isinstance(unit, int) else unit
        in_use = used.get(resource_class, 0) + plan.deltas.get((provider, resource_class), 0)
        if in_use + amount > capacity or not least <= amount <= most or amount % step:
            return False
    return True


def _group_allows(partition: PartitionState, batch: ClaimBatch, host: str, plan: PreparePlan) -> bool:
    if batch.group is None:
        return True
    if has_left(partition, batch.group.id, batch.group_generation, bool(partition.groups.get(batch.group.id))):
        return False
    members = plan.members
    if batch.group.policy is GroupPolicy.ANTI_AFFINITY:
        number = members.get(host, 0) + plan.member_deltas.get(host, 0)
        return host == plan.source_host or number < batch.group.max_per_host
    if batch.group.policy is not GroupPolicy.AFFINITY:
        return True
    changed = plan.member_deltas
    hosts = {other for other in {*members, *changed} if members.get(other, 0) + changed.get(other, 0) > 0}
    return host in hosts or not hosts


def _may_be_rejoined(partition: PartitionState, batch: ClaimBatch) -> bool:
    """Return whether an affinity group is split over several nodes, but audits may show that it is on one."""
    if batch.group is None or batch.group.policy is not GroupPolicy.AFFINITY:
        return False
    return len(partition.groups.get(batch.group.id, {})) > 1 and (partition.awaits_any() or bool(partition.unverified))


def _awaits_audits(
    partition: PartitionState, batch: ClaimBatch, host: str, required: Allocations, plan: PreparePlan
) -> bool:
    """Return whether awaited audits may change the verdict.

    Forgotten claims matter for an affinity group without members, and for providers of other service hosts.
    """
    is_affinity = batch.group is not None and batch.group.policy is GroupPolicy.AFFINITY
    has_members = batch.group is not None and bool(plan.members)
    has_shared_provider = any(names.host_of(provider) != names.host_of(host) for provider in required)
    return ((is_affinity and not has_members) or has_shared_provider) and partition.awaits_any()
