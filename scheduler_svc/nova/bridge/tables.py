# SPDX-License-Identifier: Apache-2.0
"""Tables of Nova's databases, with the columns that the bridge reads."""

from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Float, Integer, MetaData, Table, Text

API = MetaData()
CELL = MetaData()


def _columns(kind: type, *names: str) -> list[Column[Any]]:
    return [Column(name, kind) for name in names]


def _table(name: str, database: MetaData, *columns: Column[Any]) -> Table:
    times = _columns(DateTime, "created_at", "updated_at")
    return Table(name, database, Column("id", Integer, primary_key=True), *columns, *times)


def _kept_table(name: str, *columns: Column[Any]) -> Table:
    """Return a cell's table with soft deletion: ``deleted`` is the row's id, otherwise 0."""
    return _table(name, CELL, *columns, Column("deleted_at", DateTime), Column("deleted", Integer))


CELL_MAPPINGS = _table(
    "cell_mappings", API, *_columns(Text, "uuid", "name", "database_connection"), Column("disabled", Boolean)
)
HOST_MAPPINGS = _table("host_mappings", API, Column("cell_id", Integer), Column("host", Text))
AGGREGATES = _table("aggregates", API, *_columns(Text, "uuid", "name"))
AGGREGATE_HOSTS = _table("aggregate_hosts", API, Column("host", Text), Column("aggregate_id", Integer))
AGGREGATE_METADATA = _table("aggregate_metadata", API, *_columns(Text, "key", "value"), Column("aggregate_id", Integer))

SERVICES = _kept_table(
    "services",
    *_columns(Text, "host", "binary", "disabled_reason"),
    *_columns(Boolean, "disabled", "forced_down"),
    Column("last_seen_up", DateTime),
    Column("version", Integer),
)
INSTANCES = _kept_table("instances", *_columns(Text, "uuid", "host"))
MIGRATIONS = _kept_table("migrations", *_columns(Text, "source_compute", "source_node", "migration_type", "status"))
# Capacity and usage of a compute node, in MiB and GiB.
COUNTED_AMOUNTS = (
    *("vcpus", "vcpus_used", "memory_mb", "free_ram_mb", "local_gb", "local_gb_used", "free_disk_gb"),
    "disk_available_least",
)
RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")
AMOUNTS = (*COUNTED_AMOUNTS, *RATIOS)
COMPUTE_NODES = _kept_table(
    "compute_nodes",
    *_columns(Text, "uuid", "host", "hypervisor_hostname", "hypervisor_type", "cpu_info", "supported_instances"),
    *_columns(Text, "host_ip", "metrics", "stats", "pci_stats", "numa_topology"),
    *_columns(Integer, "hypervisor_version", *COUNTED_AMOUNTS),
    *_columns(Float, *RATIOS),
)
