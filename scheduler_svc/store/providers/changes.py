# SPDX-License-Identifier: Apache-2.0
"""Providers as clients of the Placement API read and change them: states, changes and refusals.

A provider has one owner, who may change its inventories, its place in a tree and its existence: the agent that reports
it, or the Placement API. Of an agent's provider the API may change aggregates, add traits, and put its own providers
below it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Amounts

API = "api"  # the owner in a document; a document without an owner is its agent's
KIND = "provider"  # the kind of every provider that the API owns: requests for hosts, pools or networks pass over it


VOCABULARIES = ("trait", "resource_class")  # namespaces of custom names, which exist though no provider may have them


class Unchanged(Enum):
    """The marker for a part that a change leaves as it is, where None has a meaning."""

    UNCHANGED = auto()


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider as of one moment.

    ``document`` is the stored one, read-only: id, owner ("api", or absent for an agent's), name (of the API's), root,
    parent, inventories, traits, aggregates (absent: none), created_ms and changed_ms (of the API's), version.
    ``generation`` is the one that clients read and send back. ``used`` has the sums of live claims, ``children`` the
    ids of the API's providers directly below it, sorted.
    """

    id: str
    document: Mapping[str, Any]
    generation: int
    used: Amounts
    children: Sequence[str]


@dataclass(frozen=True, slots=True)
class CreateProvider:
    """Make a provider without inventories: ``provider`` is names.api_provider(uuid), ``parent`` the id of a provider.

    Refused with EXISTS, NAME or PARENT.
    """

    provider: str
    name: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateProvider:
    """Rename a provider or move it, with all that is below it, to another parent; None: it becomes a root.

    The generation is neither compared nor increased. Refused with PROVIDER, OWNER, NAME, PARENT or LOOP.
    """

    provider: str
    name: str | Unchanged = UNCHANGED
    parent: str | Unchanged | None = UNCHANGED


@dataclass(frozen=True, slots=True)
class DeleteProvider:
    """Delete a provider. Refused with PROVIDER, OWNER, CHILDREN or IN_USE."""

    provider: str


@dataclass(frozen=True, slots=True)
class SetInventories:
    """Replace all inventories, by resource class; increases the generation.

    ``generation`` is compared unless it is None. Refused with PROVIDER, OWNER, GENERATION, or IN_USE for the classes
    that would be removed though they are in use.
    """

    provider: str
    inventories: Mapping[str, Inventory]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class AddInventory:
    """Add the inventory of a class that has none; increases the generation. Refused with PROVIDER, OWNER or EXISTS."""

    provider: str
    resource_class: str
    inventory: Inventory


@dataclass(frozen=True, slots=True)
class ReplaceInventory:
    """Replace the inventory of a class; increases the generation.

    ``generation`` is compared unless it is None. Refused with PROVIDER, OWNER, GENERATION or INVENTORY.
    """

    provider: str
    resource_class: str
    inventory: Inventory
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class RemoveInventory:
    """Remove the inventory of a class; increases the generation. Refused with PROVIDER, OWNER, INVENTORY or IN_USE."""

    provider: str
    resource_class: str


@dataclass(frozen=True, slots=True)
class SetTraits:
    """Replace all traits; increases the generation if that changes anything.

    ``generation`` is compared unless it is None. Refused with PROVIDER, GENERATION, or OWNER where a trait that the
    provider's agent reports would be removed.
    """

    provider: str
    traits: Collection[str]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class SetAggregates:
    """Replace all aggregates, by uuid.

    ``generation`` is compared, and increased; with None it is neither (microversions before 1.19). Refused with
    PROVIDER or GENERATION.
    """

    provider: str
    aggregates: Collection[str]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ImportProvider:
    """Store a provider as another Placement has it: made, or replaced if nothing but imports has written it since.

    With ``overwrite`` it is replaced also where clients wrote it.

    Times are in ms. The generation becomes ``generation``, or the one at which the epoch began if that is larger.
    Inventories may go though they are in use, and may be less than is in use. Refused with NAME, PARENT, LOOP, or
    GENERATION where others than imports changed the provider, or claims were made on it: ``expected`` is then the
    generation as imported, None if it never was.
    """

    provider: str
    name: str
    parent: str | None
    inventories: Mapping[str, Inventory]
    traits: Collection[str]
    aggregates: Collection[str]
    generation: int
    created_ms: int
    changed_ms: int
    overwrite: bool = False


InventoryChange = SetInventories | AddInventory | ReplaceInventory | RemoveInventory
ProviderChange = (
    CreateProvider | UpdateProvider | DeleteProvider | InventoryChange | SetTraits | SetAggregates | ImportProvider
)


class RefusalKind(StrEnum):
    """Why a change is refused."""

    PROVIDER = "provider"  # there is no such provider
    PARENT = "parent"  # there is no provider to be the parent
    LOOP = "loop"  # the parent would be the provider itself, or below it
    NAME = "name"  # another provider has the name
    EXISTS = "exists"  # the provider, or the inventory of the class, exists already
    OWNER = "owner"  # it is for the provider's agent to change
    GENERATION = "generation"  # the provider changed since the client read it
    INVENTORY = "inventory"  # the provider has no inventory of the class
    IN_USE = "in use"  # live claims hold what would be removed
    CHILDREN = "children"  # there are providers below it
    CONSUMER = "consumer"  # the consumer changed since the client read it
    CAPACITY = "capacity"  # the provider has not enough left
    UNITS = "units"  # the amount violates min_unit, max_unit or step_size
    CLOSED = "closed"  # the provider's agent must audit first
    GUEST = "guest"  # the consumer's agent reports that its guest uses more than is requested
    BEHIND = "behind"  # a trait or class may have been taken into use since the caller looked


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused change, which changed nothing.

    ``provider`` is the one that the refusal is about: for PARENT the parent, for NAME the provider that has the name.
    ``resource_classes`` are those in use, or the one of an inventory. For GENERATION ``expected`` is what the client
    sent and ``actual`` what the provider has; for BEHIND they are positions, and ``provider`` is the name.
    ``consumer`` is the one whose allocations are refused; for CONSUMER they are its generations, None: it has none.
    """

    kind: RefusalKind
    provider: str
    resource_classes: Sequence[str] = ()
    expected: int | None = None
    actual: int | None = None
    consumer: str = ""


def is_api_owned(document: Mapping[str, Any]) -> bool:
    """Return whether the Placement API owns the provider with this document."""
    return document.get("owner") == API


def name_of(document: Mapping[str, Any]) -> str:
    """Return a provider's name: that of an agent's provider is its id."""
    return str(document.get("name", document["id"]))
