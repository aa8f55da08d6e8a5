# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests of the deciding core: documents, tables, and memory stores with hosts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.reads import NO_READS, Reads
from scheduler_svc.core.records import Snapshot
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.partition import PartitionRows
from scheduler_svc.core.table.resources import NO_INVENTORY
from scheduler_svc.core.table.state_column import NO_TEXT
from scheduler_svc.core.table.state_columns import StateColumns
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport

EPOCH = 7
RESOURCE_COLUMNS = ("capacity", "used", "free", "min_unit", "max_unit", "step_size")
SMALL_NODE = {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 200}
SMALL_REQUEST = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}


def node(
    amounts: Mapping[str, int | Inventory] | None = None,
    traits: Sequence[str] = (),
    zone: str | None = None,
    metrics: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return what a host reports of one node; an amount stands for an inventory of that total."""
    inventories = {
        resource_class: (amount if isinstance(amount, Inventory) else Inventory(amount)).as_dict()
        for resource_class, amount in (SMALL_NODE if amounts is None else amounts).items()
    }
    return {
        "inventories": inventories,
        "traits": list(traits),
        "availability_zone": zone,
        "metrics": dict(metrics or {}),
    }


def provider(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored document of a node, or of a provider below one where ``document`` has its root and parent."""
    return {"schema": 1, "id": name, "root": name, "parent": None, "host": name.partition("/")[0], **document}


def child_provider(
    parent: str, root: str, amounts: Mapping[str, int | Inventory], traits: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the stored document of a child provider of ``parent``, in the tree of ``root``."""
    return {"parent": parent, "root": root, "inventories": node(amounts)["inventories"], "traits": list(traits)}


def snapshot(nodes: Mapping[str, Mapping[str, Any]], used: Mapping[str, Mapping[str, int]] | None = None) -> Snapshot:
    """Return a snapshot in which every host is alive, enabled and open."""
    hosts = {name.partition("/")[0] for name in nodes}
    return Snapshot(
        epoch=EPOCH,
        position=100,
        providers={name: provider(name, document) for name, document in nodes.items()},
        used=used or {},
        services={host: {"enabled": True} for host in hosts},
        alive=dict.fromkeys(hosts, True),
        opened=dict.fromkeys(hosts, EPOCH),
    )


def table(
    nodes: Mapping[str, Mapping[str, Any]],
    used: Mapping[str, Mapping[str, int]] | None = None,
    reads: Reads = NO_READS,
) -> HostTable:
    """Return a table of hosts that are all eligible."""
    return HostTable.from_snapshot(snapshot(nodes, used), reads=reads)


def request(resources: Mapping[str, int] | None = None, **more: Any) -> SchedulingRequest:
    """Return a request for ``resources``."""
    return SchedulingRequest("req-1", SMALL_REQUEST if resources is None else resources, **more)


def join(store: MemoryStore, nodes: Mapping[str, Mapping[str, Any]], sequence: int = 1) -> None:
    """Send full reports and empty audits for hosts, as agents do at start."""
    by_host: dict[str, dict[str, Any]] = {}
    for name, document in nodes.items():
        by_host.setdefault(name.partition("/")[0], {})[name] = document
    for host, documents in by_host.items():
        report_result = store.update_stats(
            host, HostReport(register=True, agent="a", incarnation=0, sequence=sequence, nodes=documents)
        )
        store.audit(host, report_result.epoch, [], 0)


def _state_values(states: StateColumns, row: int) -> dict[tuple[str, str], Any]:
    values: dict[tuple[str, str], Any] = {}
    for key, column in states._all_columns():
        if not np.isnan(column.numbers[row]):
            values[key] = float(column.numbers[row])
        elif column.codes[row] != NO_TEXT:
            values[key] = list(column.texts)[column.codes[row]]
        elif column._lists is not None and column._lists.of(row):
            values[key] = sorted(column._lists.of(row))
    return values


def describe(table: HostTable, number: int = 0) -> dict[str, Any]:
    """Return everything that decisions can read of a partition in a table, by name, for comparisons."""
    part = table.partitions[number]
    classes = sorted(table.resources)
    zones = {code: zone for zone, code in table.zones.items()}

    def row_of(row: int) -> dict[str, Any]:
        described: dict[str, Any] = {
            "alive": bool(table.services.alive[row]),
            "enabled": bool(table.services.enabled[row]),
            "opened": bool(table.services.opened[row]),
            "zone": zones.get(int(table.zone[row])),
            "traits": table.traits.of(row),
            "aggregates": table.aggregates.bits.of(row),
            "states": _state_values(table.states, row),
            "name": table.api.name(row, table.names[row]),
            "changed_ms": int(table.api.changed_ms[row]),
            "classes": {name for name in classes if table.resources[name].min_unit[row] != NO_INVENTORY},
        }
        for name in classes:
            columns = table.resources[name]
            if columns.capacity[row] or columns.used[row]:
                described[name] = tuple(int(getattr(columns, figure)[row]) for figure in RESOURCE_COLUMNS)
        return described

    rows = {name: row_of(row) for name, row in part.rows.items() if table.present[row]}
    children = {
        part.forest.names[row]: _describe_child(table, part, int(row)) for row in np.flatnonzero(part.forest.present)
    }
    assert _roots(table, part) == sorted(child["root"] for child in children.values())
    documents = {namespace: dict(part.documents.of(namespace)) for namespace in part.documents.namespaces}
    return {"epoch": part.epoch, "rows": rows, "documents": documents, "child_provider": children}


def _describe_child(table: HostTable, part: PartitionRows, row: int) -> dict[str, Any]:
    forest = part.forest
    described: dict[str, Any] = {
        "root": table.names[forest.root[row]],
        "parent": forest.parent(row),
        "traits": forest.traits.of(row),
        "aggregates": forest.aggregates.of(row),
        "name": forest.api.name(row, forest.names[row]),
        "changed_ms": int(forest.api.changed_ms[row]),
        "classes": {name for name, columns in forest.resources.items() if columns.min_unit[row] != NO_INVENTORY},
    }
    for name, columns in forest.resources.items():
        if columns.capacity[row] or columns.used[row]:
            described[name] = tuple(int(getattr(columns, figure)[row]) for figure in RESOURCE_COLUMNS)
    return described


def _roots(table: HostTable, part: PartitionRows) -> list[str]:
    """Return the roots of all child providers, from the roots' own columns."""
    return sorted(table.names[host] for host in part.forest.hosts for _ in part.forest.descendants(host))
