# SPDX-License-Identifier: Apache-2.0
"""The hosts of all partitions, as the pages show them: state, zones, aggregates, and amounts of each resource class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rpcapi import objects
from rpcapi.cli import aggregate_write, api_providers
from rpcapi.cli.session import Session
from rpcapi.cli.zones import ZonesByHost
from rpcapi.resources import names

# States of a host, the worst last. Those after UP take no new servers.
UP, DISABLED, AWAITED, DUPLICATE, DOWN = "up", "disabled", "awaiting audit", "duplicate identity", "down"
STATES = (UP, DISABLED, AWAITED, DUPLICATE, DOWN)
# Shown first where hosts have them; the others follow by name.
FIRST_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")


class Amounts(NamedTuple):
    """Amounts of one resource class: ``used`` of ``capacity``, in the units of the class."""

    used: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider; ``parent`` is the id of the one above it, ``root`` that of the node at the top of its tree."""

    id: str
    name: str
    parent: str | None
    root: str
    amounts: Mapping[str, Amounts]
    traits: Sequence[str]


@dataclass(frozen=True, slots=True)
class Host:
    """A node of an agent, or a root provider of the Placement API; ``amounts`` are those of its whole tree."""

    id: str
    name: str
    partition: str
    state: str
    zones: Sequence[str]
    aggregates: Sequence[str]
    amounts: Mapping[str, Amounts]

    @property
    def service_host(self) -> str:
        """The name of the service host of a node."""
        return names.host_of(self.id)


@dataclass(frozen=True, slots=True)
class HostList:
    """All hosts at one time, by name; ``log_positions`` are those of the partitions' logs before they were read.

    ``providers`` has the providers of each host's tree by the host's id, the host first, and ``services`` the documents
    of service hosts and other services by partition and name.
    """

    log_positions: Mapping[str, tuple[int, int]]
    hosts: Sequence[Host]
    providers: Mapping[str, Sequence[Provider]]
    services: Mapping[tuple[str, str], Mapping[str, Any]]

    @property
    def version(self) -> str:
        """A text that is another one after each change."""
        return "-".join(f"{epoch}.{position}" for epoch, position in self.log_positions.values())

    def find(self, name: str) -> Host | None:
        """Return the host with this name or id, or None."""
        return next((host for host in self.hosts if name in (host.name, host.id)), None)

    def classes(self) -> list[str]:
        """Return the resource classes of all hosts, the usual ones first."""
        present = {resource_class for host in self.hosts for resource_class in host.amounts}
        return [name for name in FIRST_CLASSES if name in present] + sorted(present - set(FIRST_CLASSES))

    def zones(self) -> list[str]:
        """Return the availability zones of all hosts."""
        return sorted({zone for host in self.hosts for zone in host.zones})

    def aggregates(self) -> list[str]:
        """Return the aggregates that have hosts."""
        return sorted({aggregate for host in self.hosts for aggregate in host.aggregates})

    def select(self, zone: str = "", aggregate: str = "", text: str = "") -> list[Host]:
        """Return the hosts of a zone and of an aggregate whose names contain a text; an empty one selects all."""
        return [
            host
            for host in self.hosts
            if (not zone or zone in host.zones)
            and (not aggregate or aggregate in host.aggregates)
            and text.casefold() in host.name.casefold()
        ]


def total(hosts: Iterable[Host], resource_class: str) -> Amounts:
    """Return the sums of one resource class."""
    amounts = [host.amounts[resource_class] for host in hosts if resource_class in host.amounts]
    return Amounts(sum(item.used for item in amounts), sum(item.capacity for item in amounts))


def read(session: Session, partitions: objects.PartitionList, former: HostList | None) -> HostList:
    """Read all hosts, or return the ``former`` list where no partition has logged a change since."""
    columns = zip(partitions.names, partitions.epochs, partitions.positions, strict=True)
    log_positions = {name: (epoch, position) for name, epoch, position in columns}
    if former is not None and former.log_positions == log_positions:
        return former
    listing = session.scheduler.list_host_state
    services = {
        (state.partition, state.name): state.document for state in session.list_all(listing, "states", "service")
    }
    aggregates = [
        state.document
        for state in session.list_all(listing, "states", aggregate_write.NAMESPACE)
        if "deleted" not in state.document
    ]
    trees: dict[str, list[Any]] = {}
    for state in session.list_all(listing, "states", "compute"):
        trees.setdefault(state.document.get("root") or state.name, []).append(state)
    zones, members = ZonesByHost(aggregates), _aggregates_by_host(aggregates)
    hosts: list[Host] = []
    providers: dict[str, list[Provider]] = {}
    for states in trees.values():
        root = next((state for state in states if state.document.get("parent") is None), None)
        if root is None:
            continue  # its root was removed while the pages were read
        tree = [_provider(state) for state in (root, *(state for state in states if state is not root))]
        providers[root.name] = tree
        service = services.get((root.partition, names.host_of(root.name)))
        hosts.append(
            Host(
                root.name,
                tree[0].name,
                root.partition or "",
                UP if api_providers.owner_of(root.name) == api_providers.API else state_of(service or {}),
                zones.of(root.name, root.document),
                sorted(members.get(root.name, set()) | members.get(names.host_of(root.name), set())),
                _sum(tree),
            )
        )
    hosts.sort(key=lambda host: host.name)
    return HostList(log_positions, hosts, providers, services)


def state_of(service: Mapping[str, Any]) -> str:
    """Return the state of a service host by its document."""
    if not service.get("alive"):
        return DOWN
    if service.get("duplicate_ms") is not None:
        return DUPLICATE
    if not service.get("audited", True):
        return AWAITED
    return UP if service.get("enabled", True) else DISABLED


def _provider(state: Any) -> Provider:
    document = state.document
    used = document.get("used", {})
    return Provider(
        state.name,
        api_providers.name_of(document) or state.name,
        document.get("parent"),
        document.get("root") or state.name,
        {
            resource_class: Amounts(used.get(resource_class, 0), inventory["capacity"])
            for resource_class, inventory in sorted(document["inventories"].items())
        },
        document.get("traits", []),
    )


def _sum(tree: Iterable[Provider]) -> dict[str, Amounts]:
    sums: dict[str, Amounts] = {}
    for provider in tree:
        for resource_class, amounts in provider.amounts.items():
            former = sums.get(resource_class, Amounts(0, 0))
            sums[resource_class] = Amounts(former.used + amounts.used, former.capacity + amounts.capacity)
    return sums


def _aggregates_by_host(aggregates: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    members: dict[str, set[str]] = {}
    for document in aggregates:
        for host in document["hosts"]:
            members.setdefault(host, set()).add(document.get("name") or document["id"])
    return members
