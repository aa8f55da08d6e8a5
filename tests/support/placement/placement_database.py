# SPDX-License-Identifier: Apache-2.0
"""A Placement database in a SQLite file, with the schema that Placement 16 has, filled row by row."""

import contextlib
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TIMES = "created_at DATETIME, updated_at DATETIME"
CREATED, UPDATED = "2024-01-02 03:04:05.000000", "2024-05-06 07:08:09.000000"
CREATED_MS, UPDATED_MS = 1_704_164_645_000, 1_714_979_289_000
CHILD = "host-1 numa/0 \N{SNOWMAN}"
SCHEMA = [
    f"CREATE TABLE resource_classes ({TIMES}, id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL UNIQUE)",
    f"CREATE TABLE traits ({TIMES}, id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL UNIQUE)",
    f"CREATE TABLE placement_aggregates ({TIMES}, id INTEGER PRIMARY KEY, uuid VARCHAR(36) UNIQUE)",
    f"CREATE TABLE projects ({TIMES}, id INTEGER PRIMARY KEY, external_id VARCHAR(255) NOT NULL UNIQUE)",
    f"CREATE TABLE users ({TIMES}, id INTEGER PRIMARY KEY, external_id VARCHAR(255) NOT NULL UNIQUE)",
    f"CREATE TABLE consumer_types ({TIMES}, id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL UNIQUE)",
    f"CREATE TABLE resource_providers ({TIMES}, id INTEGER PRIMARY KEY, uuid VARCHAR(36) NOT NULL UNIQUE, "
    "name VARCHAR(200) UNIQUE, generation INTEGER, root_provider_id INTEGER, parent_provider_id INTEGER)",
    f"CREATE TABLE inventories ({TIMES}, id INTEGER PRIMARY KEY, resource_provider_id INTEGER NOT NULL, "
    "resource_class_id INTEGER NOT NULL, total INTEGER NOT NULL, reserved INTEGER NOT NULL, min_unit INTEGER NOT NULL, "
    "max_unit INTEGER NOT NULL, step_size INTEGER NOT NULL, allocation_ratio FLOAT NOT NULL, "
    "UNIQUE (resource_provider_id, resource_class_id))",
    f"CREATE TABLE allocations ({TIMES}, id INTEGER PRIMARY KEY, resource_provider_id INTEGER NOT NULL, "
    "consumer_id VARCHAR(36) NOT NULL, resource_class_id INTEGER NOT NULL, used INTEGER NOT NULL)",
    f"CREATE TABLE consumers ({TIMES}, id INTEGER PRIMARY KEY, uuid VARCHAR(36) NOT NULL UNIQUE, "
    "project_id INTEGER NOT NULL, user_id INTEGER NOT NULL, generation INTEGER NOT NULL DEFAULT 0, "
    "consumer_type_id INTEGER)",
    f"CREATE TABLE resource_provider_traits ({TIMES}, trait_id INTEGER NOT NULL, "
    "resource_provider_id INTEGER NOT NULL, PRIMARY KEY (trait_id, resource_provider_id))",
    f"CREATE TABLE resource_provider_aggregates ({TIMES}, resource_provider_id INTEGER NOT NULL, "
    "aggregate_id INTEGER NOT NULL, PRIMARY KEY (resource_provider_id, aggregate_id))",
]


def uuid_for(name: str) -> str:
    """Return the UUID that tests give to what has this name."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


class PlacementFile:
    """A database, and what fills it as Placement would."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        with self.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)

    @contextlib.contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction."""
        with contextlib.closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            yield connection

    def execute(self, statement: str, *values: Any) -> None:
        """Run one statement."""
        with self.connect() as connection:
            connection.execute(statement, values)

    def provider(
        self,
        name: str,
        *,
        parent: str | None = None,
        generation: int = 1,
        inventories: Mapping[str, Mapping[str, Any]] | None = None,
        traits: tuple[str, ...] = (),
        aggregates: tuple[str, ...] = (),
    ) -> str:
        """Add a provider; return its UUID."""
        with self.connect() as connection:
            number = _insert(connection, "resource_providers", uuid=uuid_for(name), name=name, generation=generation)
            above = None if parent is None else _find(connection, "resource_providers", "name", parent)
            connection.execute(
                "UPDATE resource_providers SET parent_provider_id = ?, root_provider_id = coalesce((SELECT "
                "root_provider_id FROM resource_providers WHERE id = ?), id) WHERE id = ?",
                (above, above, number),
            )
            for resource_class, figures in (inventories or {}).items():
                _insert(
                    connection,
                    "inventories",
                    **{"reserved": 0, "min_unit": 1, "max_unit": 2**31 - 1, "step_size": 1, "allocation_ratio": 1.0}
                    | dict(figures),
                    resource_provider_id=number,
                    resource_class_id=_find(connection, "resource_classes", "name", resource_class),
                )
            for trait in traits:
                member = _find(connection, "traits", "name", trait)
                _insert(connection, "resource_provider_traits", resource_provider_id=number, trait_id=member)
            for aggregate in aggregates:
                member = _find(connection, "placement_aggregates", "uuid", aggregate)
                _insert(connection, "resource_provider_aggregates", resource_provider_id=number, aggregate_id=member)
        return uuid_for(name)

    def consumer(
        self,
        name: str,
        allocations: Mapping[str, Mapping[str, int]],
        *,
        generation: int = 1,
        consumer_type: str | None = "INSTANCE",
        project: str = "project-1",
    ) -> str:
        """Add a consumer, and what it holds by name of the provider; return its UUID."""
        with self.connect() as connection:
            type_id = None if consumer_type is None else _find(connection, "consumer_types", "name", consumer_type)
            _insert(
                connection,
                "consumers",
                uuid=uuid_for(name),
                project_id=_find(connection, "projects", "external_id", project),
                user_id=_find(connection, "users", "external_id", "user-1"),
                generation=generation,
                consumer_type_id=type_id,
            )
            self._allocate(connection, name, allocations)
        return uuid_for(name)

    def allocate(self, name: str, allocations: Mapping[str, Mapping[str, int]]) -> None:
        """Replace what a consumer holds, and increase its generation and those of the providers."""
        with self.connect() as connection:
            connection.execute("DELETE FROM allocations WHERE consumer_id = ?", (uuid_for(name),))
            connection.execute("UPDATE consumers SET generation = generation + 1 WHERE uuid = ?", (uuid_for(name),))
            self._allocate(connection, name, allocations)
            for provider in allocations:
                connection.execute(
                    "UPDATE resource_providers SET generation = generation + 1 WHERE name = ?", (provider,)
                )

    def _allocate(
        self, connection: sqlite3.Connection, name: str, allocations: Mapping[str, Mapping[str, int]]
    ) -> None:
        for provider, amounts in allocations.items():
            for resource_class, amount in amounts.items():
                _insert(
                    connection,
                    "allocations",
                    consumer_id=uuid_for(name),
                    resource_provider_id=_find(connection, "resource_providers", "name", provider),
                    resource_class_id=_find(connection, "resource_classes", "name", resource_class),
                    used=amount,
                )


def small_cloud(folder: Path) -> PlacementFile:
    """Make a database of a host with a NUMA node and a pool that is oversold, and what holds from them."""
    database = PlacementFile(folder / "placement.sqlite")
    cpus = {"VCPU": {"total": 8, "allocation_ratio": 1.15, "max_unit": 8}}
    database.provider("host-1", generation=57, inventories=cpus, traits=("HW_CPU_X86_AVX",), aggregates=("a1",))
    database.provider(
        CHILD,
        parent="host-1",
        generation=4,
        inventories={"CUSTOM_SLOT": {"total": 6, "step_size": 2}},
    )
    database.provider("pool", generation=3, inventories={"DISK_GB": {"total": 10}}, traits=("CUSTOM_FAST",))
    database.consumer(
        "vm-1",
        {"host-1": {"VCPU": 2}, CHILD: {"CUSTOM_SLOT": 2}, "pool": {"DISK_GB": 8}},
        generation=5,
    )
    database.consumer("vm-2", {"pool": {"DISK_GB": 7}}, consumer_type=None, project="project-2")
    return database


def _find(connection: sqlite3.Connection, table: str, column: str, text: str) -> int:
    """Return the id of the row that has a text, which is added if it is missing."""
    row = connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()  # noqa: S608
    return row[0] if row else _insert(connection, table, **{column: text})


def _insert(connection: sqlite3.Connection, table: str, **values: Any) -> int:
    values = {"created_at": CREATED, "updated_at": UPDATED, **values}
    marks = ", ".join("?" for _ in values)
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608
    return int(connection.execute(statement, tuple(values.values())).lastrowid or 0)
