# SPDX-License-Identifier: Apache-2.0
"""Checks of the amounts in a host's audit, so that a host cannot take resources of other hosts."""

from rpcapi.resources import names
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import Allocations, Amounts, Claim
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.validation import MAX_CLASSES, MAX_PROVIDERS
from scheduler_svc.store.verbs.partition import PartitionState


def is_credible(partition: PartitionState, claim: RunningClaim | Claim, live: Claim | None) -> bool:
    """Return whether a host may assert all allocations of its claim.

    ``live`` is the consumer's live claim, whose amounts become free when it ends.
    """
    return all(
        _is_own(partition, claim.host, provider)
        or _may_hold(partition, provider, amounts, live.allocations.get(provider, {}) if live is not None else {})
        for provider, amounts in claim.allocations.items()
    )


def believed_allocations(partition: PartitionState, live: Claim, claim: RunningClaim) -> Allocations:
    """Return a live claim's allocations, raised to the amounts that its host reports, but never lowered.

    Amounts from a provider outside the host's trees are raised only if the store may have lost claims of the host, and
    the provider is a sharing provider with free capacity, or unknown.
    """
    allocations = dict(live.allocations)
    for provider, amounts in sorted(claim.allocations.items()):
        before = live.allocations.get(provider, {})
        more = {name: amount for name, amount in amounts.items() if amount > before.get(name, 0)}
        raised = {**before, **more}
        if not more or len(raised) > MAX_CLASSES or len(allocations.keys() | {provider}) > MAX_PROVIDERS:
            continue
        may_be_forgotten = partition.may_have_lost_claims_of(claim.host)
        if _is_own(partition, claim.host, provider) or (
            may_be_forgotten and _may_hold(partition, provider, raised, before)
        ):
            allocations[provider] = raised
    return allocations


def _is_own(partition: PartitionState, node: str, provider: str) -> bool:
    """Return whether a provider belongs to the node's service host, by its name or by its tree's root."""
    host = names.host_of(node)
    if names.host_of(provider) == host:
        return True
    document = partition.providers.get(provider)
    return document is not None and names.host_of(document["root"]) == host


def _may_hold(partition: PartitionState, provider: str, amounts: Amounts, replaced: Amounts) -> bool:
    """Return whether a claim may have ``amounts`` from a provider outside its host's trees.

    An unknown provider may provide any amounts. A known provider must be a sharing provider with enough free capacity,
    to which the claim's ``replaced`` amounts are added.
    """
    document = partition.providers.get(provider)
    if document is None:
        return True
    return SHARING_TRAIT in document["traits"] and all(
        partition.has_room(provider, name, amount - replaced.get(name, 0)) for name, amount in amounts.items()
    )
