# SPDX-License-Identifier: Apache-2.0
"""The documents that the bridge writes, as they follow from the records of Nova."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from rpcapi.resources import names
from scheduler_svc.databases import milliseconds
from scheduler_svc.nova.bridge.records import Aggregate, Cell, ComputeNode

Document = dict[str, Any]
Documents = dict[str, Document]

# nova-compute sets the trait OWNER_NOVA on its providers from this service version on.
OWNER_TRAIT_VERSION = 73


def compute_documents(
    cell: Cell,
    nodes: Iterable[ComputeNode],
    services: Iterable[Row[Any]],
    host_cells: Mapping[str, str],
    *,
    now_ms: int,
    down_ms: int,
) -> Documents:
    """Return the document of each compute node of a cell that has a service: without one it is no host, as in Nova.

    A service is up that has reported for the last ``down_ms``, by a clock that is not far ahead of its own.
    """
    by_host = {service.host: service for service in services}
    documents: Documents = {}
    for node in nodes:
        service = by_host.get(node.host)
        if service is None:
            continue
        seen_ms = milliseconds(service.last_seen_up or service.created_at)
        documents[names.api_provider(node.uuid)] = {
            "service_host": node.host,
            "node": node.node,
            "cell": cell.uuid,
            "up": not service.forced_down and abs(now_ms - seen_ms) <= down_ms,
            "disabled": bool(service.disabled),
            "forced_down": bool(service.forced_down),
            "disabled_reason": service.disabled_reason,
            "version": service.version or 0,
            **with_mapping(cell, node.host, host_cells),
            **node.host_keys,
        }
    return documents


def with_mapping(cell: Cell, host: str, host_cells: Mapping[str, str]) -> Document:
    """Return the keys of a document that the API database decides."""
    return {"mapped": host_cells.get(host) == cell.uuid, "cell_disabled": cell.disabled}


def aggregate_documents(aggregates: Iterable[Aggregate], computes: Mapping[str, Mapping[str, Any]]) -> Documents:
    """Return the document of each aggregate, given those of the compute nodes.

    Its members are the nodes of its hosts, and the hosts that have none.
    """
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


def unmapped_hosts(computes: Iterable[Mapping[str, Any]]) -> Sequence[str]:
    """Return the service hosts that have compute nodes and no mapping to their cell, in order."""
    return sorted({compute["service_host"] for compute in computes if not compute["mapped"]})


def all_computes_own(services: Iterable[Row[Any]]) -> bool:
    """Return whether every compute service sets the trait OWNER_NOVA, as Nova judges it: forced-down ones do not count.

    Services without a version do not count either.
    """
    versions = [service.version for service in services if service.version and not service.forced_down]
    return bool(versions) and min(versions) >= OWNER_TRAIT_VERSION
