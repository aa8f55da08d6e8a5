# SPDX-License-Identifier: Apache-2.0
"""Records of Nova's databases, as the bridge reads them, and its documents, derived from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from rpcapi.resources import names, transient
from scheduler_svc.databases import milliseconds
from scheduler_svc.nova import namespaces


@dataclass(frozen=True, slots=True)
class CellMapping:
    """Cell mapping of Nova's API database. Never log ``database_url``: it contains credentials."""

    uuid: str
    name: str | None
    database_url: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Host aggregate; ``hosts`` are names of service hosts."""

    uuid: str
    name: str
    hosts: tuple[str, ...]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deployment:
    """Contents of the API database: {uuid: cell}, {mapped service host: cell uuid}, and aggregates."""

    cells: Mapping[str, CellMapping]
    host_cells: Mapping[str, str]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class ComputeNode:
    uuid: str
    host: str
    node: str
    host_keys: Mapping[str, Any]


Document = dict[str, Any]
Documents = dict[str, Document]

# First service version whose nova-compute sets the trait OWNER_NOVA on its providers.
OWNER_TRAIT_VERSION = 73


def compute_documents(
    cell: CellMapping,
    nodes: Iterable[ComputeNode],
    services: Iterable[Row[Any]],
    host_cells: Mapping[str, str],
    *,
    now_ms: int,
    down_ms: int,
) -> Documents:
    """Return the documents of a cell's compute nodes. Like Nova, skip nodes without a service."""
    by_host = {service.host: service for service in services}
    documents: Documents = {}
    for node in nodes:
        service = by_host.get(node.host)
        if service is None:
            continue
        silence_ms = now_ms - milliseconds(service.last_seen_up or service.created_at)
        just_down = not service.forced_down and 0 < silence_ms - down_ms <= 1000 * transient.SECONDS
        documents[names.api_provider(node.uuid)] = {
            "service_host": node.host,
            "node": node.node,
            "cell": cell.uuid,
            "up": not service.forced_down and abs(silence_ms) <= down_ms,
            **({namespaces.JUST_DOWN_KEY: True} if just_down else {}),
            "disabled": bool(service.disabled),
            "forced_down": bool(service.forced_down),
            "disabled_reason": service.disabled_reason,
            "version": service.version or 0,
            **with_mapping(cell, node.host, host_cells),
            **node.host_keys,
        }
    return documents


def with_mapping(cell: CellMapping, host: str, host_cells: Mapping[str, str]) -> Document:
    return {"mapped": host_cells.get(host) == cell.uuid, "cell_disabled": cell.disabled}


def aggregate_documents(aggregates: Iterable[Aggregate], computes: Mapping[str, Mapping[str, Any]]) -> Documents:
    """Return the documents of aggregates. A host without nodes is a member itself."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for name, compute in computes.items():
        nodes[compute["service_host"]].append(name)
    documents: Documents = {}
    for aggregate in aggregates:
        members = [member for host in aggregate.hosts for member in sorted(nodes.get(host, [host]))]
        documents[aggregate.uuid] = {
            "name": aggregate.name,
            "hosts": list(dict.fromkeys(members)),
            "metadata": dict(aggregate.metadata),
        }
    return documents


def all_computes_own(services: Iterable[Row[Any]]) -> bool:
    """Return whether all compute services set OWNER_NOVA. Like Nova, ignore services forced down or unversioned."""
    versions = [service.version for service in services if service.version and not service.forced_down]
    return bool(versions) and min(versions) >= OWNER_TRAIT_VERSION
