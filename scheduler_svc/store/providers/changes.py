# SPDX-License-Identifier: Apache-2.0
"""Changes of providers: requests, the reads and writes of each, and refusals."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Amounts

Document = Mapping[str, Any]
IMPORTED = "imported"  # document key: the imported generation, while only imports have written the document


@dataclass(frozen=True, slots=True)
class ProviderReads:
    """Stored providers, read under exclusive access.

    Attributes:
        generation_base: Log position at which the epoch began (0: the first epoch); lower bound of all generations.
        generation: Returns a provider's generation as clients read it.
        used: Sums of live claims by provider.
        children: Sorted ids of the API's providers directly below each provider.
        api_names: Ids of the API's providers by name.
        prefetch: Reads several providers at once, ahead of their use.
    """

    generation_base: int
    generation: Callable[[str], int]
    documents: Mapping[str, Document]
    used: Mapping[str, Amounts]
    children: Mapping[str, Sequence[str]]
    api_names: Mapping[str, str]
    prefetch: Callable[[Collection[str]], None] = lambda _providers: None

    def holder(self, name: str) -> str | None:
        """Return the id of the provider with this name, of either owner."""
        return self.api_names.get(name) or (
            name if not names.is_api_provider(name) and name in self.documents else None
        )


@dataclass(frozen=True, slots=True)
class ProviderPlan:
    """Writes of a change of ``provider``; no ``documents`` means no writes.

    Attributes:
        documents: New documents by id; None deletes the provider.
        has_new_inventories: Whether the provider's inventories are written.
        bump: Whether its generation is increased.
        generation: Generation to set, at least the epoch's first; None sets none.
        names: {name: id of its new provider}; None frees the name.
        linked, unlinked: {child: parent} entries to add to, or remove from, the children.
        stale_roots: Roots of trees on which earlier decisions become stale.
    """

    provider: str
    documents: Mapping[str, Document | None] = field(default_factory=dict)
    has_new_inventories: bool = False
    bump: bool = False
    generation: int | None = None
    names: Mapping[str, str | None] = field(default_factory=dict)
    linked: Mapping[str, str] = field(default_factory=dict)
    unlinked: Mapping[str, str] = field(default_factory=dict)
    stale_roots: Collection[str] = ()


def next_version(document: Document, clock_ms: int) -> Document:
    """Return the document's next version, without an import's mark; API-owned documents get the time."""
    times = {"changed_ms": clock_ms} if is_api_owned(document) else {}
    members = {key: value for key, value in document.items() if key != IMPORTED}
    return {**members, **times, "version": document.get("version", 0) + 1}


API = "api"  # owner stored in a document; an agent's document has no owner
KIND = "provider"  # kind of all API-owned providers; requests for hosts, pools and networks skip it


VOCABULARIES = ("trait", "resource_class")  # namespaces of custom names, which exist even if no provider uses them


class Unchanged(Enum):
    """Marks a field that a change does not touch, if None has a meaning of its own."""

    UNCHANGED = auto()


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider at one moment.

    Attributes:
        document: Stored document, read-only: id, owner, name, root, parent, inventories, traits, aggregates, version.
            Only the API's have owner, name, created_ms and changed_ms.
        generation: Generation that clients read and send back.
        used: Sums of live claims.
        children: Sorted ids of the API's providers directly below.
    """

    id: str
    document: Mapping[str, Any]
    generation: int
    used: Amounts
    children: Sequence[str]

    @property
    def name(self) -> str:
        return name_of(self.document)

    @property
    def parent(self) -> str | None:
        parent: str | None = self.document["parent"]
        return parent

    @property
    def root(self) -> str:
        return str(self.document["root"])

    @property
    def inventories(self) -> Mapping[str, Mapping[str, Any]]:
        inventories: Mapping[str, Mapping[str, Any]] = self.document["inventories"]
        return inventories

    @property
    def changed_ms(self) -> int | None:
        """Time of the last change by a client; None for an agent's provider."""
        return self.document.get("changed_ms")


@dataclass(frozen=True, slots=True)
class CreateProvider:
    """Create a provider without inventories. Refused with EXISTS, NAME or PARENT.

    ``provider`` is ``names.api_provider(uuid)``; ``parent`` is a provider's id.
    """

    provider: str
    name: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateProvider:
    """Rename a provider, or move its subtree below another parent (None: make it a root).

    Neither checks nor increases the generation. Refused with PROVIDER, OWNER, NAME, PARENT or LOOP.
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
    """Replace all inventories and increase the generation. ``generation`` None skips the check.

    Refused with PROVIDER, OWNER, GENERATION, or IN_USE for removed classes that are in use.
    """

    provider: str
    inventories: Mapping[str, Inventory]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class SetInventory:
    """Set or remove (None) the inventory of one class and increase the generation. ``generation`` None skips the check.

    ``is_new``: Add an inventory of a class without one; otherwise there must be one. Refused with PROVIDER, OWNER,
    GENERATION, EXISTS, INVENTORY, or IN_USE for a removed class that is in use.
    """

    provider: str
    resource_class: str
    inventory: Inventory | None
    generation: int | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class SetTraits:
    """Replace all traits; increase the generation if they change. ``generation`` None skips the check.

    Refused with PROVIDER, GENERATION, or OWNER if a trait reported by the agent would be removed.
    """

    provider: str
    traits: Collection[str]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class SetAggregates:
    """Replace all aggregates, given by uuid. Refused with PROVIDER or GENERATION.

    ``generation`` None (microversions before 1.19) neither checks nor increases it.
    """

    provider: str
    aggregates: Collection[str]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ImportProvider:
    """Create a provider as another Placement has it, or replace a provider that only imports have written.

    ``overwrite`` also replaces clients' writes. The generation becomes ``generation``, or the epoch's first one if that
    is larger. Inventories may be removed, or shrunk below their usage. Refused with NAME, PARENT, LOOP, or GENERATION
    after other changes or claims; ``expected`` is then the imported generation, None if never imported. Comparisons
    leave times out, which another Placement may have in coarser units.
    """

    provider: str
    name: str
    parent: str | None
    inventories: Mapping[str, Inventory]
    traits: Collection[str]
    aggregates: Collection[str]
    generation: int
    created_ms: int = field(compare=False)
    changed_ms: int = field(compare=False)
    overwrite: bool = False


InventoryChange = SetInventories | SetInventory
ProviderChange = (
    CreateProvider | UpdateProvider | DeleteProvider | InventoryChange | SetTraits | SetAggregates | ImportProvider
)


class RefusalKind(StrEnum):
    PROVIDER = "provider"  # no such provider
    PARENT = "parent"  # no such parent
    LOOP = "loop"  # the parent is the provider itself or below it
    NAME = "name"  # another provider has the name
    EXISTS = "exists"  # the provider, or its inventory of the class, exists already
    OWNER = "owner"  # only the provider's agent may change this
    GENERATION = "generation"  # the provider changed since the client read it
    INVENTORY = "inventory"  # the provider has no inventory of the class
    IN_USE = "in use"  # live claims use what would be removed
    CHILDREN = "children"  # the provider has child providers
    CONSUMER = "consumer"  # the consumer changed since the client read it
    CAPACITY = "capacity"  # the provider lacks capacity
    UNITS = "units"  # the amount violates min_unit, max_unit or step_size
    CLOSED = "closed"  # the provider's agent must audit first
    GUEST = "guest"  # the agent reports that the guest uses more than requested
    BEHIND = "behind"  # the caller's replica is too old: a trait or class may be in use by now


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused change; nothing was written.

    Attributes:
        provider: Refused provider; for PARENT the parent, for NAME the provider with the name, for BEHIND the trait or
            class.
        resource_classes: Classes in use, or the class of the inventory.
        expected, actual: Generations sent and stored, of the provider or for CONSUMER of the consumer (None: no
            allocations); for BEHIND log positions.
        consumer: Consumer whose allocations are refused.
    """

    kind: RefusalKind
    provider: str
    resource_classes: Sequence[str] = ()
    expected: int | None = None
    actual: int | None = None
    consumer: str = ""


def is_api_owned(document: Mapping[str, Any]) -> bool:
    return document.get("owner") == API


def name_of(document: Mapping[str, Any]) -> str:
    """Return a provider's name; an agent's provider is named by its id."""
    return str(document.get("name", document["id"]))
