# SPDX-License-Identifier: Apache-2.0
"""Provider changes: requests, the data that planning reads, planned writes, and refusals."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Amounts

Document = Mapping[str, Any]
IMPORTED = "imported"  # document key of the imported generation; removed by the first write that is not an import


@dataclass(frozen=True, slots=True)
class ProviderReads:
    """Stored providers as a planner reads them, within one atomic verb.

    Attributes:
        generation_base: Log position at which the epoch began (0 in the first epoch); lower bound of all generations.
        generation: Returns a provider's generation as clients read it.
        documents: {provider id: document}.
        used: {provider id: sums of live claims}.
        children: {provider id: sorted ids of API-owned providers directly below}.
        api_names: {name: id} of API-owned providers.
        prefetch: Reads several providers in one round trip, before their use.
    """

    generation_base: int
    generation: Callable[[str], int]
    documents: Mapping[str, Document]
    used: Mapping[str, Amounts]
    children: Mapping[str, Sequence[str]]
    api_names: Mapping[str, str]
    prefetch: Callable[[Collection[str]], None] = lambda _providers: None

    def holder(self, name: str) -> str | None:
        """Return the id of the provider with this name, of either owner, or None."""
        return self.api_names.get(name) or (
            name if not names.is_api_provider(name) and name in self.documents else None
        )


@dataclass(frozen=True, slots=True)
class ProviderPlan:
    """Writes that carry out a change of ``provider``. An empty ``documents`` means no writes.

    Attributes:
        documents: {provider id: new document}; None deletes the provider.
        has_new_inventories: Whether to write the provider's inventories.
        bump: Whether to increase the provider's generation.
        generation: Generation to set, at least the epoch's first; None sets no generation.
        names: {name: id of the provider that gets it}; None frees the name.
        linked, unlinked: {child: parent} to add to, and remove from, the index of children.
        stale_roots: Roots of the trees on which earlier decisions become stale.
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
    """Return the document with the next version and without IMPORTED; API-owned documents also get ``changed_ms``."""
    times = {"changed_ms": clock_ms} if is_api_owned(document) else {}
    members = {key: value for key, value in document.items() if key != IMPORTED}
    return {**members, **times, "version": document.get("version", 0) + 1}


API = "api"  # ``owner`` of API-owned documents; agents' documents have no owner
KIND = "provider"  # kind of API-owned providers; requests for hosts, pools and networks skip this kind


VOCABULARIES = ("trait", "resource_class")  # namespaces of custom names, which exist even while no provider uses them


class Unchanged(Enum):
    """Marker of a field that a change leaves as it is, where None means something else."""

    UNCHANGED = auto()


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider at one moment.

    Attributes:
        document: Stored document, read-only: id, root, parent, inventories, traits, aggregates, version. API-owned
            documents also have owner, name, created_ms and changed_ms.
        generation: Generation that clients read and send back.
        used: {class: sum of live claims}.
        children: Sorted ids of API-owned providers directly below.
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

    ``provider`` is ``names.api_provider(uuid)``; ``parent`` is the id of a provider of either owner.
    """

    provider: str
    name: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateProvider:
    """Rename a provider, or move its subtree below a different ``parent`` (None makes the provider a root).

    The generation is neither checked nor increased. Refused with PROVIDER, OWNER, NAME, PARENT or LOOP.
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
    """Set or remove (None) the inventory of one class, and increase the generation.

    ``is_new`` requires a class without an inventory, otherwise the class must have one. ``generation`` None skips the
    check. Refused with PROVIDER, OWNER, GENERATION, EXISTS, INVENTORY, or IN_USE for a removed class that is in use.
    """

    provider: str
    resource_class: str
    inventory: Inventory | None
    generation: int | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class SetTraits:
    """Replace all traits; increase the generation if they change. ``generation`` None skips the check.

    Refused with PROVIDER, GENERATION, or OWNER if a trait that the agent reports would be removed.
    """

    provider: str
    traits: Collection[str]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class SetAggregates:
    """Replace all aggregates, given by uuid. Refused with PROVIDER or GENERATION.

    With ``generation`` None (microversions before 1.19), the generation is neither checked nor increased.
    """

    provider: str
    aggregates: Collection[str]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ImportProvider:
    """Create a provider like in another Placement, or replace a provider that only imports have written.

    ``overwrite`` also replaces clients' writes. The generation becomes ``generation``, or the epoch's first generation
    if that is larger. Inventories may be removed, or shrunk below their usage. Refused with NAME, PARENT, LOOP, or
    GENERATION after other changes or claims; the refusal's ``expected`` is then the imported generation, None if the
    provider was never imported. Comparisons ignore times, because the other Placement may store coarser ones.
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
    LOOP = "loop"  # the new parent is the provider itself, or in its subtree
    NAME = "name"  # a different provider has the name
    EXISTS = "exists"  # the provider, or its inventory of the class, exists already
    OWNER = "owner"  # only the agent that owns the provider or the claim may change it
    GENERATION = "generation"  # the provider changed since the client read it
    INVENTORY = "inventory"  # the provider has no inventory of the class
    IN_USE = "in use"  # live claims use the provider or the classes to remove
    CHILDREN = "children"  # the provider has child providers
    CONSUMER = "consumer"  # the consumer changed since the client read it
    CAPACITY = "capacity"  # the provider lacks capacity
    UNITS = "units"  # the amount violates min_unit, max_unit or step_size
    CLOSED = "closed"  # the provider's agent must audit first
    GUEST = "guest"  # the agent reports that the guest uses more than the requested amount
    BEHIND = "behind"  # the caller's replica is too old: a provider may use the trait or class by now


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused change; nothing was written.

    Attributes:
        provider: Provider to change or to allocate from; for PARENT the missing parent, for NAME the provider that has
            the name, for BEHIND the trait or class.
        resource_classes: Classes in use, or the class of the refused inventory or amount.
        expected, actual: For GENERATION the provider's generations, sent and stored; for CONSUMER those of the consumer
            (None: no allocations); for BEHIND log positions.
        consumer: Consumer of the refused allocations.
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
    """Return a provider's name, which for an agent's provider is its id."""
    return str(document.get("name", document["id"]))
