# SPDX-License-Identifier: Apache-2.0
"""Tables of Nova's databases, with only the columns that are read."""

from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Float, Integer, MetaData, String, Table, Text

API = MetaData()
CELL = MetaData()


def _table(name: str, database: MetaData, *columns: Column[Any]) -> Table:
    times = (Column("created_at", DateTime), Column("updated_at", DateTime))
    return Table(name, database, Column("id", Integer, primary_key=True), *columns, *times)


def _kept_table(name: str, *columns: Column[Any]) -> Table:
    """Return a cell table with soft deletion: ``deleted`` is 0, or the row's id."""
    return _table(name, CELL, *columns, Column("deleted_at", DateTime), Column("deleted", Integer))


CELL_MAPPINGS = _table(
    "cell_mappings",
    API,
    Column("uuid", String(36)),
    Column("name", String(255)),
    Column("database_connection", Text),
    Column("disabled", Boolean),
)
HOST_MAPPINGS = _table("host_mappings", API, Column("cell_id", Integer), Column("host", String(255)))
AGGREGATES = _table("aggregates", API, Column("uuid", String(36)), Column("name", String(255)))
AGGREGATE_HOSTS = _table("aggregate_hosts", API, Column("host", String(255)), Column("aggregate_id", Integer))
AGGREGATE_METADATA = _table(
    "aggregate_metadata",
    API,
    Column("key", String(255)),
    Column("value", String(255)),
    Column("aggregate_id", Integer),
)

SERVICES = _kept_table(
    "services",
    Column("host", String(255)),
    Column("binary", String(255)),
    Column("disabled", Boolean),
    Column("disabled_reason", String(255)),
    Column("last_seen_up", DateTime),
    Column("forced_down", Boolean),
    Column("version", Integer),
)
INSTANCES = _kept_table("instances", Column("uuid", String(36)), Column("host", String(255)))
# Capacity and usage of a compute node in MiB and GiB, and its allocation ratios.
COUNTED_AMOUNTS = (
    *("vcpus", "vcpus_used", "memory_mb", "free_ram_mb", "local_gb", "local_gb_used", "free_disk_gb"),
    "disk_available_least",
)
RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")
AMOUNTS = (*COUNTED_AMOUNTS, *RATIOS)
COMPUTE_NODES = _kept_table(
    "compute_nodes",
    Column("uuid", String(36)),
    Column("host", String(255)),
    Column("hypervisor_hostname", String(255)),
    Column("hypervisor_type", Text),
    Column("hypervisor_version", Integer),
    Column("cpu_info", Text),
    Column("supported_instances", Text),
    Column("host_ip", String(39)),
    Column("metrics", Text),
    Column("stats", Text),
    Column("pci_stats", Text),
    Column("numa_topology", Text),
    *(Column(name, Integer) for name in COUNTED_AMOUNTS),
    *(Column(name, Float) for name in RATIOS),
)
