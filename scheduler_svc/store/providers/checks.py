# SPDX-License-Identifier: Apache-2.0
"""Validation of provider changes, before the store is read."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.inventory import MAX_AMOUNT, Inventory
from scheduler_svc.store import validation
from scheduler_svc.store.providers.changes import (
    VOCABULARIES,
    CreateProvider,
    ImportProvider,
    ProviderChange,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
    UpdateProvider,
)

MAX_NAME = 200  # characters of a provider's name
MAX_PARTS = 1000  # inventories, traits and aggregates per provider, each
MAX_IMPORTS = 500  # providers per import call

_TRAIT = re.compile(r"[A-Z0-9_]{1,255}")
_AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size")


def check_ids(ids: Sequence[str], most: int | None = None) -> None:
    if isinstance(ids, str):  # type checkers accept a string as a sequence of ids
        raise validation.refuse(f"providers must be given as a list of ids, not as the text {ids!r:.80}")
    if most is not None and len(ids) > most:
        raise validation.refuse(f"a call may contain at most {most} providers, got {len(ids)}; split it")
    for provider in ids:
        validation.check_name(provider)


def check(change: ProviderChange) -> None:
    """Raise InvalidRequest or InvalidName if any part of the change is invalid."""
    validation.check_name(change.provider)
    if isinstance(change, (CreateProvider, ImportProvider)) and not names.is_api_provider(change.provider):
        raise errors.InvalidName(
            name=change.provider, why=f"the id of a new provider begins with {names.api_provider('')!r}"
        )
    generation = getattr(change, "generation", None)
    if generation is not None:
        validation.check_number("generation", generation, 0, validation.MAX_NUMBER)
    match change:
        case CreateProvider(_, name, parent) | UpdateProvider(_, name, parent):
            _check_place(name, parent)
        case SetTraits():
            _check_traits(change.traits)
        case SetAggregates():
            _check_aggregates(change.aggregates)
        case SetInventories():
            _check_inventories(change.inventories)
        case SetInventory(_, resource_class, inventory):
            if inventory is None:
                validation.check_resource_class(resource_class)
            else:
                _check_inventory(resource_class, inventory)
        case ImportProvider():
            _check_import(change)


def check_imports(imports: Sequence[ImportProvider]) -> None:
    """Raise InvalidRequest or InvalidName unless there are 1 to MAX_IMPORTS valid imports of distinct providers."""
    if not 1 <= len(imports) <= MAX_IMPORTS:
        raise validation.refuse(f"a call must contain 1 to {MAX_IMPORTS} providers, got {len(imports)}")
    if len({change.provider for change in imports}) < len(imports):
        raise validation.refuse("a call must not contain the same provider twice")
    for change in imports:
        check(change)


def check_retirement(namespace: str, name: str, as_of: int) -> None:
    if namespace not in VOCABULARIES:
        raise validation.refuse(f"names can be retired in {' and '.join(VOCABULARIES)} only, not in {namespace!r}")
    validation.check_name(name)
    validation.check_number("position", as_of, 0, validation.MAX_NUMBER)


def _check_place(name: Any, parent: Any) -> None:
    if isinstance(name, str):
        validation.check_text("name of a provider", name, MAX_NAME)
        if not name:
            raise validation.refuse("the name of a provider must not be empty")
    if isinstance(parent, str):
        validation.check_name(parent)


def _check_import(change: ImportProvider) -> None:
    _check_place(change.name, change.parent)
    _check_inventories(change.inventories)
    _check_traits(change.traits)
    _check_aggregates(change.aggregates)
    for what in ("generation", "created_ms", "changed_ms"):
        validation.check_number(what, getattr(change, what), 0, validation.MAX_NUMBER)


def _check_traits(traits: Collection[str]) -> None:
    _check_all("traits", traits, _check_trait)


def _check_aggregates(aggregates: Collection[str]) -> None:
    _check_all("aggregates", aggregates, validation.check_name)


def _check_inventories(inventories: Mapping[str, Inventory]) -> None:
    _check_all("inventories", inventories.items(), lambda entry: _check_inventory(*entry))


def _check_all(what: str, parts: Collection[Any], check_part: Callable[[Any], None]) -> None:
    if len(parts) > MAX_PARTS:
        raise validation.refuse(f"a provider may have at most {MAX_PARTS} {what}, got {len(parts)}")
    for part in parts:
        check_part(part)


def _check_trait(trait: Any) -> None:
    if not isinstance(trait, str) or not _TRAIT.fullmatch(trait):
        raise validation.refuse(f"{trait!r:.80} is not a trait")


def _check_inventory(resource_class: Any, inventory: Inventory) -> None:
    validation.check_resource_class(resource_class)
    for figure in _AMOUNTS:
        validation.check_number(f"{figure} of {resource_class}", getattr(inventory, figure), 0, MAX_AMOUNT)
    if inventory.step_size < 1:
        raise validation.refuse(f"the step_size of {resource_class} must be at least 1")
    ratio = inventory.allocation_ratio
    if not isinstance(ratio, (int, float)) or isinstance(ratio, bool) or not (ratio >= 0 and math.isfinite(ratio)):
        raise validation.refuse(f"the allocation_ratio of {resource_class} must be a number from 0, got {ratio!r}")
