# SPDX-License-Identifier: Apache-2.0
"""Hosts of all partitions: state, zones, aggregates, and amounts by resource class."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rpcapi import objects
from rpcapi.admin import api_providers
from rpcapi.admin.aggregates import NAMESPACE as AGGREGATES
from rpcapi.admin.aggregates import ZonesByHost
from rpcapi.admin.service_states import AGENT, DOWN, DUPLICATE, TOO_OLD, UP, agent_state_of
from rpcapi.admin.session import NO_ANSWER, Session
from rpcapi.resources import names

# States of a host, the worst last. Only UP accepts new servers.
DISABLED, AWAITED = "disabled", "awaiting audit"
STATES = (UP, DISABLED, AWAITED, DUPLICATE, TOO_OLD, DOWN)
# First in lists; others follow by name.
FIRST_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")


class Amounts(NamedTuple):
    """Used amount and capacity of one resource class."""

    used: int
    capacity: int


@dataclass(frozen=True, slots=True)
class ProviderSummary:
    """Resource provider below a host; ``parent`` is the id of another provider."""

    id: str
    name: str
    parent: str | None
    amounts: Mapping[str, Amounts]
    traits: Sequence[str]


@dataclass(frozen=True, slots=True)
class Host:
    """Node of an agent, or root provider of the Placement API; ``amounts`` cover its whole tree."""

    id: str
    name: str
    partition: str
    state: str
    zones: Sequence[str]
    aggregates: Sequence[str]
    amounts: Mapping[str, Amounts]

    @property
    def service_host(self) -> str:
        return names.host_of(self.id)


class PartitionHosts(NamedTuple):
    """Hosts, and provider trees by host id, at a log position (epoch, number); stale if the store does not answer."""

    log_position: tuple[int, int] = (0, 0)
    hosts: Sequence[Host] = ()
    providers: Mapping[str, Sequence[ProviderSummary]] = {}
    services: Mapping[str, Mapping[str, Any]] = {}
    is_stale: bool = False


class HostList:
    def __init__(self, partitions: Mapping[str, PartitionHosts]) -> None:
        self.partitions = partitions
        self.hosts = sorted((host for part in partitions.values() for host in part.hosts), key=lambda host: host.name)

    @property
    def version(self) -> str:
        """Opaque token that changes whenever the list changes."""
        return "-".join(
            f"{'stale.' if part.is_stale else ''}{part.log_position[0]}.{part.log_position[1]}"
            for part in self.partitions.values()
        )

    @property
    def stale(self) -> list[str]:
        """Partitions with data of an earlier read, because their stores do not answer."""
        return [name for name, part in self.partitions.items() if part.is_stale]

    def tree(self, host: Host) -> Sequence[ProviderSummary]:
        return self.partitions[host.partition].providers[host.id]

    def service(self, host: Host) -> Mapping[str, Any]:
        return self.partitions[host.partition].services.get(host.service_host, {})

    def find(self, name: str) -> Host | None:
        return next((host for host in self.hosts if name in (host.name, host.id)), None)

    def classes(self) -> list[str]:
        present = {resource_class for host in self.hosts for resource_class in host.amounts}
        return [name for name in FIRST_CLASSES if name in present] + sorted(present - set(FIRST_CLASSES))

    def zones(self) -> list[str]:
        return sorted({zone for host in self.hosts for zone in host.zones})

    def aggregates(self) -> list[str]:
        return sorted({aggregate for host in self.hosts for aggregate in host.aggregates})

    def select(self, zone: str = "", aggregate: str = "", text: str = "") -> list[Host]:
        """Return the hosts that match zone, aggregate and part of a name; empty arguments match all."""
        return [
            host
            for host in self.hosts
            if (not zone or zone in host.zones)
            and (not aggregate or aggregate in host.aggregates)
            and text.casefold() in host.name.casefold()
        ]


def total(holders: Iterable[Host | ProviderSummary], resource_class: str) -> Amounts:
    amounts = [holder.amounts[resource_class] for holder in holders if resource_class in holder.amounts]
    return Amounts(sum(item.used for item in amounts), sum(item.capacity for item in amounts))


def count_states(hosts: Iterable[Host]) -> dict[str, int]:
    return dict.fromkeys(STATES, 0) | Counter(host.state for host in hosts)


def read(session: Session, partitions: objects.PartitionList, previous: HostList | None) -> HostList:
    """Read services, which the log does not cover, and hosts of partitions with new log entries.

    A partition whose store does not answer keeps its data; its error is raised if no partition has data.
    """
    parts: dict[str, PartitionHosts] = {}
    failure: Exception | None = None
    columns = zip(partitions.names, partitions.epochs, partitions.positions, strict=True)
    for name, epoch, position in columns:
        before = PartitionHosts() if previous is None else previous.partitions.get(name, PartitionHosts())
        try:
            parts[name] = _read_partition(session, name, (epoch, position), before)
        except NO_ANSWER as error:
            failure = error
            parts[name] = before._replace(is_stale=True)
    if failure is not None and not any(part.hosts for part in parts.values()):
        raise failure
    return HostList(parts)


def _read_partition(
    session: Session, name: str, log_position: tuple[int, int], before: PartitionHosts
) -> PartitionHosts:
    documents = {state.name: state.document for state in session.list_states("service", partition=name)}
    if before.log_position == log_position:
        return before._replace(services=documents, is_stale=False)
    aggregates = [state for state in session.list_states(AGGREGATES, partition=name) if "deleted" not in state.document]
    trees: dict[str, list[Any]] = {}
    for state in session.list_states("compute", partition=name):
        trees.setdefault(state.document.get("root") or state.name, []).append(state)
    zones, members = ZonesByHost(state.document for state in aggregates), _aggregates_by_host(aggregates)
    hosts: list[Host] = []
    providers: dict[str, list[ProviderSummary]] = {}
    for states in trees.values():
        root = next((state for state in states if state.document.get("parent") is None), None)
        if root is None:
            continue  # The root was removed during the read.
        tree = [_provider(state) for state in (root, *(state for state in states if state is not root))]
        providers[root.name] = tree
        classes = dict.fromkeys(resource_class for provider in tree for resource_class in provider.amounts)
        is_api = api_providers.owner_of(root.name) == api_providers.API
        service_host = names.host_of(root.name)
        hosts.append(
            Host(
                root.name,
                tree[0].name,
                name,
                UP if is_api else state_of(documents.get(service_host, {})),
                zones.of(root.name, root.document),
                sorted(members.get(root.name, set()) | members.get(service_host, set())),
                {resource_class: total(tree, resource_class) for resource_class in classes},
            )
        )
    return PartitionHosts(log_position, hosts, providers, documents)


def state_of(service: Mapping[str, Any]) -> str:
    """Return the state of a service from its document; only agents await an audit."""
    state = agent_state_of(service)
    if state != UP:
        return state
    if service.get("binary", AGENT) == AGENT and not service.get("audited", True):
        return AWAITED
    return UP if service.get("enabled", True) and not service.get("refusal") else DISABLED


def _provider(state: Any) -> ProviderSummary:
    document = state.document
    used = document.get("used", {})
    return ProviderSummary(
        state.name,
        api_providers.name_of(document) or state.name,
        document.get("parent"),
        {
            resource_class: Amounts(used.get(resource_class, 0), inventory["capacity"])
            for resource_class, inventory in sorted(document["inventories"].items())
        },
        document.get("traits", []),
    )


def _aggregates_by_host(aggregates: Iterable[Any]) -> dict[str, set[str]]:
    members: dict[str, set[str]] = {}
    for state in aggregates:
        for host in state.document["hosts"]:
            members.setdefault(host, set()).add(state.document.get("name") or state.name)
    return members
