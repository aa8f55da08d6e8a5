# SPDX-License-Identifier: Apache-2.0
"""Nova's databases as SQLite files with the columns that the bridge reads, written as Nova's services do."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Table, create_engine, delete, insert, select, update
from sqlalchemy.engine import Engine

from scheduler_svc.nova.bridge import tables

START_MS = 1_700_000_000_000
OWNING_VERSION = 74


def uuid_for(name: str) -> str:
    """Return the uuid of a thing by its name in a test."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def row_name(node: str) -> str:
    """Return the name of a compute node's document."""
    return f"@api/{uuid_for(node)}"


class NovaClock:
    """The clock of all machines of a test."""

    def __init__(self) -> None:
        self.ms = START_MS

    def __call__(self) -> int:
        return self.ms

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.ms += round(1000 * seconds)

    @property
    def now(self) -> datetime:
        """The time as Nova stores it: UTC without a zone, in whole seconds."""
        return datetime.fromtimestamp(self.ms // 1000, UTC).replace(tzinfo=None)


class NovaCell:
    """The database of one cell."""

    def __init__(self, engine: Engine, clock: NovaClock) -> None:
        self.engine = engine
        self._clock = clock

    def add_compute(self, host: str, *nodes: str, **columns: Any) -> None:
        """Add a compute service with nodes, one of the host's name by default; ``columns`` are of the nodes."""
        self.add_service(host)
        for node in nodes or (host,):
            self.add_node(host, node, **columns)

    def add_service(self, host: str, binary: str = "nova-compute", **columns: Any) -> None:
        """Add a service that has just reported."""
        values = {
            "host": host,
            "binary": binary,
            "disabled": False,
            "forced_down": False,
            "version": OWNING_VERSION,
            "last_seen_up": self._clock.now,
        }
        self._insert(tables.SERVICES, {**values, **columns})

    def add_node(self, host: str, node: str, **columns: Any) -> None:
        """Add a compute node."""
        values = {
            "uuid": uuid_for(node),
            "host": host,
            "hypervisor_hostname": node,
            "hypervisor_type": "QEMU",
            "hypervisor_version": 8_001_000,
            "cpu_info": json.dumps({"arch": "x86_64", "vendor": "AMD"}),
            "supported_instances": json.dumps([["x86_64", "kvm", "hvm"]]),
            "host_ip": "192.0.2.7",
            "metrics": "[]",
            **{"vcpus": 16, "vcpus_used": 2, "free_ram_mb": 1024, "cpu_allocation_ratio": 4.0},
            "stats": json.dumps({"num_instances": "2", "io_workload": "1", "failed_builds": "0"}),
        }
        self._insert(tables.COMPUTE_NODES, {**values, **columns})

    def add_instance(self, instance: str, host: str | None, **columns: Any) -> None:
        """Add an instance, which has no host while it is being built."""
        self._insert(tables.INSTANCES, {"uuid": uuid_for(instance), "host": host, **columns})

    def add_migration(self, host: str, node: str, status: str, migration_type: str = "resize") -> None:
        """Add a move of an instance from a node."""
        source = {"source_compute": host, "source_node": node}
        self._insert(tables.MIGRATIONS, {**source, "status": status, "migration_type": migration_type})

    def change_migrations(self, host: str, status: str) -> None:
        """Change the moves from a host."""
        condition = tables.MIGRATIONS.c.source_compute == host
        self._update(tables.MIGRATIONS, condition, {"status": status, "updated_at": self._clock.now})

    def report(self, *hosts: str) -> None:
        """Let compute services report that they are up."""
        for host in hosts:
            self.change_service(host, last_seen_up=self._clock.now)

    def change_service(self, host: str, **columns: Any) -> None:
        """Change a compute service's record."""
        self._update(tables.SERVICES, tables.SERVICES.c.host == host, {**columns, "updated_at": self._clock.now})

    def change_node(self, node: str, **columns: Any) -> None:
        """Change a compute node."""
        condition = tables.COMPUTE_NODES.c.hypervisor_hostname == node
        self._update(tables.COMPUTE_NODES, condition, {**columns, "updated_at": self._clock.now})

    def delete(self, host: str) -> None:
        """Delete a compute service and its nodes as Nova does: the rows stay, and their last change too."""
        for table in (tables.SERVICES, tables.COMPUTE_NODES):
            deletion = {"deleted": table.c.id, "deleted_at": self._clock.now}
            self._update(table, table.c.host == host, deletion)

    def purge(self, host: str) -> None:
        """Remove the rows of a host, as the archive of deleted rows does."""
        with self.engine.begin() as connection:
            for table in (tables.SERVICES, tables.COMPUTE_NODES):
                connection.execute(delete(table).where(table.c.host == host))

    def _insert(self, table: Table, values: dict[str, Any]) -> None:
        with self.engine.begin() as connection:
            connection.execute(insert(table).values(**{"created_at": self._clock.now, "deleted": 0, **values}))

    def _update(self, table: Table, condition: Any, values: dict[str, Any]) -> None:
        with self.engine.begin() as connection:
            connection.execute(update(table).where(condition).values(**values))


class NovaDeployment:
    """An API database, and databases of cells."""

    def __init__(self, folder: Path, clock: NovaClock) -> None:
        self.clock = clock
        self.cells: dict[str, NovaCell] = {}
        self.paths: dict[str, Path] = {}
        self._folder = folder
        self._engine = self._create("api", tables.API)

    @property
    def api_url(self) -> str:
        """The URL of the API database."""
        return f"sqlite:///{self.paths['api']}"

    def add_cell(self, name: str, *, disabled: bool = False) -> NovaCell:
        """Add a cell with an empty database."""
        cell = self.cells[name] = NovaCell(self._create(name, tables.CELL), self.clock)
        connection = f"sqlite:///{self.paths[name]}"
        self._insert(
            tables.CELL_MAPPINGS, uuid=uuid_for(name), name=name, database_connection=connection, disabled=disabled
        )
        return cell

    def disable_cell(self, name: str, disabled: bool = True) -> None:
        """Disable or enable a cell."""
        table = tables.CELL_MAPPINGS
        with self._engine.begin() as connection:
            connection.execute(update(table).where(table.c.name == name).values(disabled=disabled))

    def remove_cell(self, name: str) -> None:
        """Remove a cell's mapping."""
        table = tables.CELL_MAPPINGS
        with self._engine.begin() as connection:
            connection.execute(delete(table).where(table.c.name == name))

    def map_hosts(self, cell: str, *hosts: str) -> None:
        """Map service hosts to a cell."""
        for host in hosts:
            self._insert(tables.HOST_MAPPINGS, cell_id=self._id(tables.CELL_MAPPINGS, cell), host=host)

    def add_aggregate(self, name: str, *hosts: str, **metadata: str) -> None:
        """Add an aggregate of service hosts."""
        self._insert(tables.AGGREGATES, uuid=uuid_for(name), name=name)
        number = self._id(tables.AGGREGATES, name)
        for host in hosts:
            self._insert(tables.AGGREGATE_HOSTS, aggregate_id=number, host=host)
        for key, value in metadata.items():
            self._insert(tables.AGGREGATE_METADATA, aggregate_id=number, key=key, value=value)

    def remove_aggregate(self, name: str) -> None:
        """Remove an aggregate with its hosts and metadata."""
        number = self._id(tables.AGGREGATES, name)
        with self._engine.begin() as connection:
            for table in (tables.AGGREGATE_HOSTS, tables.AGGREGATE_METADATA):
                connection.execute(delete(table).where(table.c.aggregate_id == number))
            connection.execute(delete(tables.AGGREGATES).where(tables.AGGREGATES.c.id == number))

    def hide(self, name: str) -> None:
        """Make a database, ``api`` or a cell's, unreadable."""
        self.paths[name].rename(self.paths[name].with_suffix(".away"))
        self.paths[name].write_bytes(b"no database" * 1000)

    def show(self, name: str) -> None:
        """Make a hidden database readable again."""
        self.paths[name].with_suffix(".away").rename(self.paths[name])

    def _create(self, name: str, metadata: Any) -> Engine:
        path = self.paths[name] = self._folder / f"{name}.sqlite"
        engine = create_engine(f"sqlite:///{path}")
        metadata.create_all(engine)
        return engine

    def _insert(self, table: Table, **values: Any) -> None:
        with self._engine.begin() as connection:
            connection.execute(insert(table).values(created_at=self.clock.now, **values))

    def _id(self, table: Table, name: str) -> int:
        with self._engine.begin() as connection:
            return int(connection.execute(select(table.c.id).where(table.c.name == name)).scalar_one())


def before(clock: NovaClock, seconds: float) -> datetime:
    """Return a time in the past of ``clock``."""
    return clock.now - timedelta(seconds=seconds)
