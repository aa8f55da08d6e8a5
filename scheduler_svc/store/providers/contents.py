# SPDX-License-Identifier: Apache-2.0
"""Plans for changes of a provider's inventories, traits and aggregates."""

from typing import Any

from rpcapi.resources.inventory import Inventory
from scheduler_svc.store import validation
from scheduler_svc.store.providers.changes import (
    Document,
    InventoryChange,
    ProviderPlan,
    ProviderReads,
    Refusal,
    RefusalKind,
    SetAggregates,
    SetInventories,
    SetTraits,
    is_api_owned,
    next_version,
)


def stored_inventory(inventory: Inventory) -> dict[str, Any]:
    """Return an inventory's stored form. Its capacity is limited to integers that Lua represents exactly."""
    raw = inventory.as_dict()
    return raw | {"capacity": min(raw["capacity"], validation.MAX_NUMBER)}


def change_inventories(
    change: InventoryChange, document: Document, reads: ProviderReads, clock_ms: int
) -> ProviderPlan | Refusal:
    provider, stored = change.provider, document["inventories"]
    refusal = compare_generation(provider, change.generation, reads)
    if refusal is not None:
        return refusal
    if isinstance(change, SetInventories):
        inventories = {name: stored_inventory(inventory) for name, inventory in change.inventories.items()}
    else:
        resource_class = change.resource_class
        if (resource_class in stored) == change.is_new:
            kind = RefusalKind.EXISTS if change.is_new else RefusalKind.INVENTORY
            return Refusal(kind, provider, [resource_class])
        inventories = {name: inventory for name, inventory in stored.items() if name != resource_class}
        if change.inventory is not None:
            inventories[resource_class] = stored_inventory(change.inventory)
    removed = sorted(stored.keys() - inventories.keys())
    used = reads.used.get(provider, {}) if removed else {}
    in_use = [name for name in removed if used.get(name, 0) > 0]
    if in_use:
        return Refusal(RefusalKind.IN_USE, provider, in_use)
    changed = next_version({**document, "inventories": inventories}, clock_ms)
    return ProviderPlan(provider, {provider: changed}, has_new_inventories=True, bump=True)


def set_traits(change: SetTraits, document: Document, reads: ProviderReads, clock_ms: int) -> ProviderPlan | Refusal:
    """Plan a replacement of all traits.

    On an agent's provider, the reported traits must stay. Traits that the API adds are also stored on their own, so
    that later reports keep them.
    """
    refusal = compare_generation(change.provider, change.generation, reads)
    if refusal is not None:
        return refusal
    traits, beside = set(change.traits), {}
    if not is_api_owned(document):
        reported, added = set(document.get("reported_traits", document["traits"])), document.get("added_traits", ())
        if not reported <= traits:
            return Refusal(RefusalKind.OWNER, change.provider)
        added_now = sorted((traits - reported) | (traits & set(added)))
        beside = {"added_traits": added_now, "reported_traits": sorted(reported)} if added_now else {}
        document = {key: value for key, value in document.items() if key not in ("added_traits", "reported_traits")}
    if sorted(traits) == document["traits"]:
        return ProviderPlan(change.provider)
    changed = next_version({**document, "traits": sorted(traits), **beside}, clock_ms)
    return ProviderPlan(change.provider, {change.provider: changed}, bump=True, stale_roots=[document["root"]])


def set_aggregates(
    change: SetAggregates, document: Document, reads: ProviderReads, clock_ms: int
) -> ProviderPlan | Refusal:
    refusal = compare_generation(change.provider, change.generation, reads)
    if refusal is not None:
        return refusal
    aggregates = sorted(set(change.aggregates))
    is_same = aggregates == document.get("aggregates", [])
    if is_same and change.generation is None:
        return ProviderPlan(change.provider)
    others = {key: value for key, value in document.items() if key != "aggregates"}
    changed = next_version(others | ({"aggregates": aggregates} if aggregates else {}), clock_ms)
    stale = [] if is_same else [document["root"]]
    return ProviderPlan(
        change.provider, {change.provider: changed}, bump=change.generation is not None, stale_roots=stale
    )


def compare_generation(provider: str, expected: int | None, reads: ProviderReads) -> Refusal | None:
    """Return a GENERATION refusal if the stored generation is not ``expected``; None skips the check."""
    if expected is None:
        return None
    actual = reads.generation(provider)
    return None if expected == actual else Refusal(RefusalKind.GENERATION, provider, (), expected, actual)
