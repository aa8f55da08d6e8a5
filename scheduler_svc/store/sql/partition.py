# SPDX-License-Identifier: Apache-2.0
"""Partition state in SQL tables, within one transaction."""

import json
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, Unpack

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select, true, update

from rpcapi.bounds import CollectionSize
from rpcapi.resources import names
from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store import namespaces
from scheduler_svc.store.codecs import STATE
from scheduler_svc.store.paging import Page
from scheduler_svc.store.sql import log, sizes
from scheduler_svc.store.sql.decisions import SqlDecisions
from scheduler_svc.store.sql.rows import ColumnView, DerivedColumns, SqlRows
from scheduler_svc.store.sql.tables import (
    CONSUMERS,
    HOLDERS,
    PARTITIONS,
    PINS,
    PROVIDERS,
    SERVICES,
    STATES,
    TALLIES,
    VIEWS,
)
from scheduler_svc.store.tallies import Tally
from scheduler_svc.store.verbs.contents import ALL, RowNames
from scheduler_svc.store.verbs.whole_partition import WholePartition

COUNTERS = tuple(str(column.key) for column in PARTITIONS.c if column.key not in ("name", "identity"))


class SqlPartition(SqlDecisions, WholePartition):
    """A partition's data during one transaction: read on demand, and written by ``finish``.

    ``meta`` is the partition's row. Only ``whole``, ``documents`` and ``claim_locations`` read whole tables.
    """

    awaited: MutableMapping[str, bool]

    def __init__(self, connection: Connection, meta: Mapping[str, Any], *, log_length: int, by_group: bool) -> None:
        super().__init__()
        self._connection = connection
        self._name = str(meta["name"])
        self._meta = {key: meta[key] for key in COUNTERS}
        for key, value in self._meta.items():
            setattr(self, key, value)
        self._log_length = log_length
        self._entries: list[LogEntry] = []
        self._awaits: bool | None = None
        self.by_group = by_group
        tables = dict.fromkeys(column.table for column in VIEWS.values())
        self._rows = {table: SqlRows(connection, table, self._name, DERIVED.get(table)) for table in tables}
        for mapping, column in VIEWS.items():
            setattr(self, mapping, ColumnView(self._rows[column.table], column))

    def finish(self) -> bool:
        """Write all changes of the verb; return whether the log grew."""
        for rows in self._rows.values():
            rows.write()
        if self._entries:
            log.write(self._connection, self._name, self._entries)
            log.trim(self._connection, self._name, int(self._meta["position"] or 0), self.position, self._log_length)
        counters = {key: getattr(self, key) for key in COUNTERS}
        if counters != self._meta:
            self._connection.execute(update(PARTITIONS).where(PARTITIONS.c.name == self._name).values(counters))
        return bool(self._entries)

    def prefetch(self, **row_names: Unpack[RowNames]) -> None:
        by_name: Mapping[str, Any] = row_names
        for rows, argument in zip(self._rows.values(), RowNames.__annotations__, strict=False):
            rows.fetch(by_name.get(argument, ()))

    def append_entry(self, entry: LogEntry) -> None:
        self._entries.append(entry)

    def entries(self, position: int, limit: int) -> list[LogEntry]:
        return log.read(self._connection, self._name, position, limit)

    def due_consumers(self, until: int, limit: int) -> list[str]:
        at = CONSUMERS.c.deadline_ms
        return self._rows[CONSUMERS].find(at <= until, at, CONSUMERS.c.name, limit=limit)

    def claims_on(self, host: str, limit: int = ALL) -> list[Claim]:
        consumers = self._rows[CONSUMERS].find(CONSUMERS.c.host == host, CONSUMERS.c.claim_location, limit=limit)
        return [self.claims[name] for name in consumers]

    def page_of_claims(self, host: str | None, consumer: str | None, marker: str | None, limit: int) -> Page[Claim]:
        location = CONSUMERS.c.claim_location
        conditions: list[ColumnElement[bool]] = [location.is_not(None)]
        if host is not None:
            # ``host`` is a node, whose name begins its claims' locations, or a service host, which is in column host.
            own = and_(location >= f"{host}|", location < f"{host}}}")
            conditions.append(or_(CONSUMERS.c.host == host, own))
        if consumer is not None:
            consumers = [name for name in (consumer, self.sources.get(consumer)) if name is not None]
            conditions.append(CONSUMERS.c.name.in_(consumers))
        if marker is not None:
            conditions.append(location > marker)
        matches = self._rows[CONSUMERS].find(and_(*conditions), location, limit=limit + 1)
        shown = [self.claims[name] for name in matches[:limit]]
        return shown, f"{shown[-1].host}|{shown[-1].consumer}" if len(matches) > limit else None

    def claims_at(self, provider: str, marker: str, limit: int) -> list[str]:
        head, after, end = f"{provider}|", f"{provider}|{marker}", f"{provider}}}"
        indexed = self._rows[HOLDERS].find(
            and_(HOLDERS.c.name > after, HOLDERS.c.name < end), HOLDERS.c.name, limit=limit
        )
        location = CONSUMERS.c.claim_location
        hosted = self._rows[CONSUMERS].find(and_(location > after, location < end), location, limit=limit)
        return sorted({*(key.removeprefix(head) for key in indexed), *hosted})[:limit]

    def tallies_of(self, project: str) -> list[Tally]:
        return [self.tallies[name] for name in self._rows[TALLIES].find(TALLIES.c.project == project)]

    def counts(self) -> Mapping[str, int]:
        prepared = len(self.deadlines)
        return {
            "prepared": prepared,
            "confirmed": self._rows[CONSUMERS].count(CONSUMERS.c.claim_location.is_not(None)) - prepared,
        }

    def sizes(self) -> Mapping[str, CollectionSize]:
        return sizes.sizes(self._connection, self._name)

    def trim_log(self, length: int) -> None:
        log.trim_to(self._connection, self._name, length)

    def old_tombstones(self, until: int, limit: int) -> list[str]:
        at = CONSUMERS.c.ended_ms
        return self._rows[CONSUMERS].find(at <= until, at, CONSUMERS.c.name, limit=limit)

    def expired_pins(self, now: int, limit: int) -> list[str]:
        return self._rows[PINS].find(PINS.c.until_ms <= now, PINS.c.until_ms, limit=limit)

    def silent_services(self, since: int) -> list[str]:
        return self._rows[SERVICES].find(and_(SERVICES.c.beat_ms <= since, SERVICES.c.alive.is_(True)))

    def is_awaited(self, host: str) -> bool:
        return host in self.awaited

    def awaits_any(self) -> bool:
        if self._awaits is None:
            self._awaits = bool(self._rows[SERVICES].names(SERVICES.c.awaited.is_not(None), limit=1))
        return self._awaits

    def await_hosts(self) -> None:
        self._rows[SERVICES].write()
        is_alive = and_(SERVICES.c.report.is_not(None), SERVICES.c.alive.is_(True))
        may_run = and_(SERVICES.c.partition == self._name, or_(SERVICES.c.opened > 0, is_alive))
        self._connection.execute(update(SERVICES).where(may_run).values(awaited=True))
        self._rows[SERVICES].forget()
        self._awaits = None

    def reset_generations(self) -> None:
        self._rows[PROVIDERS].write()
        own = PROVIDERS.c.partition == self._name
        self._connection.execute(update(PROVIDERS).where(own).values(generation=None))
        self._rows[PROVIDERS].forget()

    def await_host(self, host: str) -> None:
        self.awaited[host] = True
        self._awaits = None

    def stop_awaiting(self, host: str) -> None:
        self.awaited.pop(host, None)
        self._awaits = None

    def page_of_names(self, namespace: str, marker: str | None, limit: int) -> tuple[list[str], str | None]:
        built_in = {namespaces.COMPUTE: PROVIDERS, namespaces.SERVICE: SERVICES}
        table = built_in.get(namespace, STATES)
        head = "" if namespace in built_in else namespaces.entry_of(namespace, "")
        after = and_(table.c.document.is_not(None), table.c.name > head + (marker or ""), _is_below(head))
        page = [name.removeprefix(head) for name in self._rows[table].names(after, limit + 1)]
        return page[:limit], page[limit - 1] if len(page) > limit else None

    def whole(self, mapping: str) -> Mapping[str, Any]:
        column = VIEWS[mapping]
        query = select(column.table.c.name, column).where(column.table.c.partition == self._name, column.is_not(None))
        return {name: column.info["codec"].decode(raw) for name, raw in self._connection.execute(query)}

    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        head = namespaces.entry_of(namespace, "")
        query = select(STATES.c.name, STATES.c.document).where(STATES.c.partition == self._name, _is_below(head))
        return {name.removeprefix(head): STATE.decode(text)[1] for name, text in self._connection.execute(query)}

    def claim_locations(self) -> Collection[tuple[str, str]]:
        location = CONSUMERS.c.claim_location
        query = select(location).where(CONSUMERS.c.partition == self._name, location.is_not(None))
        pairs = (text.partition("|") for text in self._connection.scalars(query))
        return {(node, consumer) for node, _bar, consumer in pairs}


def _is_below(head: str) -> ColumnElement[bool]:
    """Return the condition that selects documents whose name begins with ``head``, "NAMESPACE|"; '' selects all."""
    return and_(STATES.c.name > head, STATES.c.name < f"{head[:-1]}}}") if head else true()


def _claim_location(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the columns ``host`` and ``claim_location`` of a consumer's row; none without a claim."""
    if "claim" not in raw:
        return {}
    claim = json.loads(raw["claim"])
    return {"host": names.host_of(claim["host"]), "claim_location": f"{claim['host']}|{claim['consumer']}"}


def _project(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"project": json.loads(raw["tally"])["owner"][0]}


def _until(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"until_ms": json.loads(raw["pinned"])[1]}


# {table: function that computes columns from the row's other columns}.
DERIVED: dict[Table, DerivedColumns] = {CONSUMERS: _claim_location, TALLIES: _project, PINS: _until}
