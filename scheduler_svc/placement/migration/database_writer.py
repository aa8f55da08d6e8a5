# SPDX-License-Identifier: Apache-2.0
"""Writer of records to a Placement database, in one transaction."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import os_resource_classes
from sqlalchemy import Column, Connection, Table, and_, delete, func, insert, select, update

from scheduler_svc.databases import EPOCH, MILLISECOND
from scheduler_svc.placement.migration import placement_tables as tables
from scheduler_svc.placement.migration.copying import TEMPORARY
from scheduler_svc.placement.migration.database import has_consumer_types
from scheduler_svc.placement.migration.database_reader import FIGURES, NAME_TABLES, time_unit_ms
from scheduler_svc.placement.migration.dump import CustomNameKind
from scheduler_svc.placement.migration.failures import CopyRefused
from scheduler_svc.placement.migration.writer import Refusals, Writer
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

# {kind of name: columns that refer to it}
REFERENCES = {
    CustomNameKind.TRAIT: (tables.PROVIDER_TRAITS.c.trait_id,),
    CustomNameKind.RESOURCE_CLASS: (tables.INVENTORIES.c.resource_class_id, tables.ALLOCATIONS.c.resource_class_id),
}
STANDARD_IDS = {name: number for number, name in enumerate(os_resource_classes.STANDARDS)}
LEAST_CUSTOM_ID = 10_000  # lowest id of custom resource classes; Placement deletes no class with a lower id
Parts = dict[int, dict[str, Any]]  # a provider's rows by the id of class, trait or aggregate


class DatabaseWriter(Writer):
    """Writer in the transaction of ``connection``, which caches row ids. Call ``finish`` last."""

    threads = 1  # the connection is not thread-safe

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[str, dict[str, int]] = {}
        self._unit_ms = time_unit_ms(connection.dialect.name)
        self._has_types = has_consumer_types(connection)
        if connection.dialect.name in ("mysql", "mariadb"):
            # Insert id 0 of VCPU as it is; by default MySQL replaces 0 by the next free id.
            connection.exec_driver_sql("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")

    def put_name(self, kind: CustomNameKind, name: str, changed_ms: int) -> None:
        self._id(NAME_TABLES[kind], "name", name, changed_ms)

    def delete_name(self, kind: CustomNameKind, name: str) -> bool:
        table = NAME_TABLES[kind]
        number = self._known(table, "name").get(name)
        if number is None or any(self._exists(column == number) for column in REFERENCES[kind]):
            return False
        self._connection.execute(delete(table).where(table.c.id == number))
        del self._known(table, "name")[name]
        return True

    def put_providers(self, records: Sequence[ImportProvider]) -> Refusals:
        answers = {record.provider: self._put_provider(record) for record in records}
        return {uuid: refusal for uuid, refusal in answers.items() if refusal is not None}

    def _put_provider(self, record: ImportProvider) -> str | None:
        table, ids = tables.PROVIDERS, self._known(tables.PROVIDERS, "uuid")
        parent = None if record.parent is None else ids.get(record.parent)
        if record.parent is not None and parent is None:
            return f"its parent {record.parent} does not exist"
        same_name = select(table.c.uuid).where(table.c.name == record.name, table.c.uuid != record.provider)
        holder = self._connection.execute(same_name).scalar()
        if holder is not None:
            return f"its name belongs to {holder}"
        values = {
            "name": record.name,
            "generation": record.generation,
            "parent_provider_id": parent,
            "created_at": self._moment(record.created_ms),
            "updated_at": self._moment(record.changed_ms),
        }
        if record.provider in ids:
            self._connection.execute(update(table).where(table.c.id == ids[record.provider]).values(values))
        else:
            ids[record.provider] = self._insert(table, {**values, "uuid": record.provider})
        self._put_parts(ids[record.provider], record)
        return None

    def delete_provider(self, uuid: str) -> str | None:
        number = self._known(tables.PROVIDERS, "uuid")[uuid]
        if self._exists(tables.PROVIDERS.c.parent_provider_id == number):
            return "there are providers below it"
        if self._exists(tables.ALLOCATIONS.c.resource_provider_id == number):
            return "consumers have allocations on it"
        for table in (tables.INVENTORIES, tables.PROVIDER_TRAITS, tables.PROVIDER_AGGREGATES):
            self._connection.execute(delete(table).where(table.c.resource_provider_id == number))
        # Providers that moved to another tree still have this root until `finish` writes roots.
        tree = tables.PROVIDERS.c.root_provider_id == number
        self._connection.execute(update(tables.PROVIDERS).where(tree).values(root_provider_id=None))
        self._connection.execute(delete(tables.PROVIDERS).where(tables.PROVIDERS.c.id == number))
        del self._known(tables.PROVIDERS, "uuid")[uuid]
        return None

    def put_consumers(self, records: Sequence[ConsumerImport]) -> Refusals:
        providers = self._known(tables.PROVIDERS, "uuid")
        self._delete(tables.ALLOCATIONS.c.consumer_id, [record.consumer for record in records])
        self._delete(tables.CONSUMERS.c.uuid, [record.consumer for record in records if not record.allocations])
        rows = [
            {
                "consumer_id": record.consumer,
                "resource_provider_id": providers[provider],
                "resource_class_id": self._id(tables.RESOURCE_CLASSES, "name", name, record.changed_ms),
                "used": amount,
                "created_at": self._moment(record.changed_ms),
            }
            for record in records
            for provider, amounts in record.allocations.items()
            for name, amount in amounts.items()
        ]
        self._put_consumer_rows([record for record in records if record.allocations])
        if rows:
            self._connection.execute(insert(tables.ALLOCATIONS), rows)
        return {}

    def finish(self) -> None:
        """Write the roots of all trees. Raises CopyRefused if a provider still has a temporary name."""
        table = tables.PROVIDERS
        temporary = select(table.c.uuid).where(table.c.name.startswith(TEMPORARY, autoescape=True))
        holder = self._connection.execute(temporary).scalar()
        if holder is not None:
            raise CopyRefused(f"provider {holder} gave up its name and cannot take its new name: nothing is exported")
        columns = (table.c.id, table.c.parent_provider_id, table.c.root_provider_id)
        parents: dict[int, int | None] = {}
        roots: dict[int, int | None] = {}
        for row in self._connection.execute(select(*columns)):
            parents[row.id], roots[row.id] = row.parent_provider_id, row.root_provider_id
        for number, recorded in roots.items():
            root, above = number, parents[number]
            while above is not None:
                root, above = above, parents[above]
            if root != recorded:
                self._connection.execute(update(table).where(table.c.id == number).values(root_provider_id=root))

    def _put_parts(self, provider: int, record: ImportProvider) -> None:
        changed_ms = record.changed_ms
        inventories = {
            self._id(tables.RESOURCE_CLASSES, "name", name, changed_ms): {
                figure: getattr(inventory, figure) for figure in FIGURES
            }
            for name, inventory in record.inventories.items()
        }
        traits: Parts = {self._id(tables.TRAITS, "name", name, changed_ms): {} for name in record.traits}
        aggregates: Parts = {self._id(tables.AGGREGATES, "uuid", name, changed_ms): {} for name in record.aggregates}
        self._put_rows(tables.INVENTORIES, "resource_class_id", provider, inventories, changed_ms)
        self._put_rows(tables.PROVIDER_TRAITS, "trait_id", provider, traits, changed_ms)
        self._put_rows(tables.PROVIDER_AGGREGATES, "aggregate_id", provider, aggregates, changed_ms)

    def _put_rows(self, table: Table, column: str, provider: int, parts: Parts, changed_ms: int) -> None:
        key, own = table.c[column], table.c.resource_provider_id == provider
        figures = [name for name in FIGURES if name in table.c]
        rows = self._connection.execute(select(key, *(table.c[name] for name in figures)).where(own)).mappings()
        stored = {row[column]: {name: row[name] for name in figures} for row in rows}
        surplus = stored.keys() - parts.keys()
        if surplus:
            self._connection.execute(delete(table).where(own, key.in_(surplus)))
        for number, values in parts.items():
            if number not in stored:
                times = {"created_at": self._moment(changed_ms)}
                row = {**values, **times, "resource_provider_id": provider, column: number}
                self._connection.execute(insert(table).values(row))
            elif values != stored[number]:
                changed = {**values, "updated_at": self._moment(changed_ms)}
                self._connection.execute(update(table).where(own, key == number).values(changed))

    def _put_consumer_rows(self, records: Sequence[ConsumerImport]) -> None:
        table = tables.CONSUMERS
        query = select(table.c.uuid).where(table.c.uuid.in_([record.consumer for record in records]))
        stored = set(self._connection.scalars(query))
        new = []
        for record in records:
            values = {
                "project_id": self._id(tables.PROJECTS, "external_id", record.project, record.changed_ms),
                "user_id": self._id(tables.USERS, "external_id", record.user, record.changed_ms),
                "generation": record.generation,
                "updated_at": self._moment(record.changed_ms),
            }
            if self._has_types:
                values["consumer_type_id"] = (
                    self._id(tables.CONSUMER_TYPES, "name", record.type, record.changed_ms) if record.type else None
                )
            if record.consumer in stored:
                self._connection.execute(update(table).where(table.c.uuid == record.consumer).values(values))
            else:
                new.append({**values, "uuid": record.consumer, "created_at": self._moment(record.changed_ms)})
        if new:
            self._connection.execute(insert(table), new)

    def _delete(self, column: Column[str], texts: Collection[str]) -> None:
        if texts:
            self._connection.execute(delete(column.table).where(column.in_(texts)))

    def _id(self, table: Table, column: str, text: str, changed_ms: int) -> int:
        ids = self._known(table, column)
        if text not in ids:
            values: dict[str, Any] = {column: text, "created_at": self._moment(changed_ms)}
            if table is tables.RESOURCE_CLASSES:
                values["id"] = class_id(text, ids.values())
            ids[text] = self._insert(table, values)
        return ids[text]

    def _known(self, table: Table, column: str) -> dict[str, int]:
        if table.name not in self._ids:
            rows = self._connection.execute(select(table.c[column], table.c.id))
            self._ids[table.name] = {row[0]: row[1] for row in rows}
        return self._ids[table.name]

    def _insert(self, table: Table, values: dict[str, Any]) -> int:
        key = self._connection.execute(insert(table).values(values)).inserted_primary_key
        return int(key[0]) if key else 0

    def _moment(self, time_ms: int) -> datetime | None:
        """Convert ms since 1970 to Placement's form, UTC without a zone; 0 (unknown) becomes None."""
        return EPOCH + time_ms // self._unit_ms * self._unit_ms * MILLISECOND if time_ms else None

    def _exists(self, condition: Any) -> bool:
        return bool(self._connection.execute(select(func.count()).where(and_(condition))).scalar())


def class_id(name: str, present: Collection[int]) -> int:
    """Return the id that Placement would give a resource class; ``present`` are the existing ids.

    At its start Placement inserts missing standard classes with their numbers as ids, and silently inserts none if one
    number is taken. So custom classes begin at LEAST_CUSTOM_ID; so does a standard class whose number is taken.
    """
    number = STANDARD_IDS.get(name)
    return max(LEAST_CUSTOM_ID, max(present, default=0) + 1) if number is None or number in present else number
