# SPDX-License-Identifier: Apache-2.0
"""Reader of a whole Placement database from one snapshot."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Table, func, select

from rpcapi.resources.inventory import Inventory
from scheduler_svc.databases import milliseconds
from scheduler_svc.placement.migration import placement_tables as tables
from scheduler_svc.placement.migration.database import PlacementDatabase, has_consumer_types
from scheduler_svc.placement.migration.dump import UNKNOWN_OWNER, CustomNameKind, PlacementDump, is_custom
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

FIGURES = Inventory.__slots__
NAME_TABLES = {CustomNameKind.TRAIT: tables.TRAITS, CustomNameKind.RESOURCE_CLASS: tables.RESOURCE_CLASSES}


class DatabaseReader:
    """Reader of a Placement database; calls ``step`` with the name of each part before reading it."""

    def __init__(self, database: PlacementDatabase, step: Callable[[str], None] = lambda part: None) -> None:
        self._database = database
        self._step = step

    def read(self) -> PlacementDump:
        with self._database.snapshot() as connection:
            snapshot = _Snapshot(connection)
            self._step("providers")
            providers = {record.provider: record for record in snapshot.providers()}
            self._step("consumers")
            consumers = {record.consumer: record for record in snapshot.consumers()}
            names = {
                (kind, row.name): milliseconds(row.updated_at or row.created_at)
                for kind, table in NAME_TABLES.items()
                for row in connection.execute(select(table.c.name, table.c.created_at, table.c.updated_at))
                if is_custom(row.name)
            }
            unit = time_unit_ms(self._database.dialect)
            return PlacementDump(providers, consumers, names, snapshot.notes, time_unit_ms=unit)


def time_unit_ms(dialect: str) -> int:
    """Return the resolution of stored times: MySQL and MariaDB store whole seconds."""
    return 1000 if dialect in ("mysql", "mariadb") else 1


class _Snapshot:
    """Records of one snapshot. Reads the names and UUIDs of row ids first."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.notes: list[str] = []
        self._classes = self._texts(tables.RESOURCE_CLASSES, "name")
        self._uuids = self._texts(tables.PROVIDERS, "uuid")

    def providers(self) -> Iterator[ImportProvider]:
        inventories: defaultdict[int, dict[str, Inventory]] = defaultdict(dict)
        rows = self._rows(tables.INVENTORIES, "resource_provider_id", "resource_class_id", *FIGURES)
        for provider, class_id, *figures in rows:
            if class_id in self._classes:
                part = Inventory(*figures)
                inventories[provider][self._classes[class_id]] = part
        traits = self._members(tables.PROVIDER_TRAITS, "trait_id", self._texts(tables.TRAITS, "name"))
        aggregates = self._members(tables.PROVIDER_AGGREGATES, "aggregate_id", self._texts(tables.AGGREGATES, "uuid"))
        columns = ("id", "uuid", "name", "generation", "parent_provider_id", "created_at", "updated_at")
        for row in self._rows(tables.PROVIDERS, *columns):
            yield ImportProvider(
                row.uuid,
                row.name,
                self._uuids.get(row.parent_provider_id),
                inventories.get(row.id, {}),
                frozenset(traits.get(row.id, ())),
                frozenset(aggregates.get(row.id, ())),
                row.generation or 0,
                milliseconds(row.created_at),
                milliseconds(row.updated_at or row.created_at),
            )

    def consumers(self) -> Iterator[ConsumerImport]:
        allocations, changed = self._allocations()
        projects, users = (self._texts(table, "external_id") for table in (tables.PROJECTS, tables.USERS))
        types, type_columns = {}, []
        if has_consumer_types(self._connection):
            types, type_columns = self._texts(tables.CONSUMER_TYPES, "name"), ["consumer_type_id"]
        columns = ("uuid", "project_id", "user_id", "generation", "created_at", "updated_at", *type_columns)
        idle = 0
        for uuid, project, user, generation, created_at, updated_at, *type_id in self._rows(tables.CONSUMERS, *columns):
            parts = allocations.pop(uuid, None)
            if parts is None:
                idle += 1
                continue
            yield ConsumerImport(
                uuid,
                parts,
                projects.get(project, UNKNOWN_OWNER),
                users.get(user, UNKNOWN_OWNER),
                types.get(type_id[0], "") if type_id else "",
                generation,
                max(milliseconds(updated_at or created_at), changed[uuid]),
            )
        if idle:
            self.notes.append(f"{idle} consumers have no allocations: gantt stores consumers only with allocations")
        if allocations:
            self.notes.append(f"{len(allocations)} consumers have no project and user: they get {UNKNOWN_OWNER}")
        for uuid, parts in allocations.items():
            yield ConsumerImport(uuid, parts, UNKNOWN_OWNER, UNKNOWN_OWNER, "", 0, changed[uuid])

    def _allocations(self) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, int]]:
        allocations: dict[str, dict[str, dict[str, int]]] = {}
        dangling = 0
        columns = ("consumer_id", "resource_provider_id", "resource_class_id", "used")
        for consumer, provider_id, class_id, used in self._rows(tables.ALLOCATIONS, *columns):
            provider, name = self._uuids.get(provider_id), self._classes.get(class_id)
            if provider is None or name is None:
                dangling += 1
                continue
            amounts = allocations.setdefault(consumer, {}).setdefault(provider, {})
            amounts[name] = amounts.get(name, 0) + used
        if dangling:
            self.notes.append(f"{dangling} allocations are on a provider or of a resource class that does not exist")
        return allocations, self._changes()

    def _changes(self) -> dict[str, int]:
        table = tables.ALLOCATIONS
        last = func.max(func.coalesce(table.c.updated_at, table.c.created_at))
        rows = self._connection.execute(select(table.c.consumer_id, last).group_by(table.c.consumer_id))
        return {consumer: milliseconds(moment) for consumer, moment in rows}

    def _members(self, table: Table, column: str, texts: Mapping[int, str]) -> dict[int, list[str]]:
        members: defaultdict[int, list[str]] = defaultdict(list)
        for row in self._rows(table, "resource_provider_id", column):
            provider, member = row[0], row[1]
            if member in texts:
                members[provider].append(texts[member])
        return members

    def _texts(self, table: Table, column: str) -> dict[int, str]:
        return {row[0]: row[1] for row in self._rows(table, "id", column)}

    def _rows(self, table: Table, *columns: str) -> Iterator[Any]:
        return iter(self._connection.execute(select(*(table.c[column] for column in columns))))
