# SPDX-License-Identifier: Apache-2.0
"""A Placement database with many flat hosts and their consumers, and changes to it."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import os_traits
from sqlalchemy import Table, create_engine, insert, update
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.pool import NullPool

from scheduler_svc.databases import DRIVERS
from scheduler_svc.placement.migration import placement_tables as tables

CLASSES = {"VCPU": 256, "MEMORY_MB": 1 << 20, "DISK_GB": 20_000}  # what a host has
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}  # what a consumer holds
TRAITS = 20  # of each host
AGGREGATES = 100
BATCH = 5000

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlacementCloud:
    """A database at a URL, with this many hosts and consumers, which are spread over the hosts."""

    url: str
    hosts: int
    consumers: int

    def fill(self) -> None:
        """Create the tables and all rows."""
        engine = self._engine()
        tables.METADATA.create_all(engine)
        with engine.begin() as connection:
            for table, rows in self._rows():
                batch: list[Row] = []
                for row in rows:
                    batch.append(row)
                    if len(batch) == BATCH:
                        connection.execute(insert(table), batch)
                        batch = []
                if batch:
                    connection.execute(insert(table), batch)

    def change(self, one_of: int) -> None:
        """Increase the generation of one of so many hosts and consumers, as a write of a client does."""
        with self._engine().begin() as connection:
            for table in (tables.PROVIDERS, tables.CONSUMERS):
                values = {"generation": table.c.generation + 1}
                connection.execute(update(table).where(table.c.id % one_of == 0).values(values))

    def _engine(self) -> Engine:
        parsed = make_url(self.url)
        driver = DRIVERS.get(parsed.get_backend_name(), parsed.drivername)
        return create_engine(parsed.set(drivername=driver), poolclass=NullPool)

    def _rows(self) -> Iterator[tuple[Table, Iterator[Row]]]:
        traits = sorted(os_traits.get_traits())[:TRAITS]
        host_numbers, consumer_numbers = range(1, self.hosts + 1), range(1, self.consumers + 1)
        yield tables.RESOURCE_CLASSES, ({"id": n, "name": name} for n, name in enumerate(CLASSES, 1))
        yield tables.TRAITS, ({"id": n, "name": name} for n, name in enumerate(traits, 1))
        yield tables.AGGREGATES, ({"id": n, "uuid": _uuid("aggregate", n)} for n in range(1, AGGREGATES + 1))
        yield tables.PROJECTS, iter([{"id": 1, "external_id": "project"}])
        yield tables.USERS, iter([{"id": 1, "external_id": "user"}])
        yield tables.CONSUMER_TYPES, iter([{"id": 1, "name": "INSTANCE"}])
        yield tables.PROVIDERS, (_host(number) for number in host_numbers)
        yield tables.INVENTORIES, (row for number in host_numbers for row in _inventories(number))
        yield (
            tables.PROVIDER_TRAITS,
            ({"trait_id": n, "resource_provider_id": host} for host in host_numbers for n in range(1, len(traits) + 1)),
        )
        yield (
            tables.PROVIDER_AGGREGATES,
            ({"aggregate_id": host % AGGREGATES + 1, "resource_provider_id": host} for host in host_numbers),
        )
        yield tables.CONSUMERS, (_consumer(number) for number in consumer_numbers)
        yield (
            tables.ALLOCATIONS,
            (row for number in consumer_numbers for row in _allocations(number, number % self.hosts + 1)),
        )


def _uuid(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{kind}-{number}"))


def _host(number: int) -> Row:
    identity = {"id": number, "root_provider_id": number, "uuid": _uuid("host", number)}
    return {**identity, "name": f"host-{number}.example", "generation": 5}


def _inventories(host: int) -> Iterator[Row]:
    for number, total in enumerate(CLASSES.values(), 1):
        limits = {"reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": 1.0}
        yield {"resource_provider_id": host, "resource_class_id": number, "total": total, **limits}


def _consumer(number: int) -> Row:
    owner = {"project_id": 1, "user_id": 1, "consumer_type_id": 1}
    return {"id": number, "uuid": _uuid("consumer", number), "generation": 1, **owner}


def _allocations(consumer: int, host: int) -> Iterator[Row]:
    for number, amount in enumerate(AMOUNTS.values(), 1):
        what = {"resource_class_id": number, "used": amount}
        yield {"consumer_id": _uuid("consumer", consumer), "resource_provider_id": host, **what}
