# SPDX-License-Identifier: Apache-2.0
"""Rows of one table within one transaction: read when they are asked for, written when the verb is done."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Result,
    Select,
    Table,
    bindparam,
    delete,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from scheduler_svc.store.sql.codecs import Codec

V = TypeVar("V")

LOT = 1000  # names in one question
INSERTS: Mapping[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class Row:
    """One row: what was read of it, and what of that was looked at since."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.held: dict[str, Any] = {}

    def get(self, column: str, codec: Codec) -> Any:
        """Return a column's value, the same object each time: what is changed in it is changed in the row."""
        if column not in self.held:
            raw = self.raw.get(column)
            self.held[column] = None if raw is None else codec.decode(raw)
        return self.held[column]


class Rows:
    """The rows of ``partition`` in ``table``, whose ``codecs`` are by column.

    ``derive`` returns the columns that follow from others, given the row as it is about to be written.
    """

    def __init__(
        self,
        connection: Connection,
        table: Table,
        partition: str,
        codecs: Mapping[str, Codec],
        derive: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        self._connection = connection
        self._table = table
        self._partition = partition
        self._codecs = codecs
        self._derive = derive
        self._rows: dict[str, Row] = {}

    def fetch(self, names: Iterable[str]) -> None:
        """Read the rows of these names that were not read before."""
        wanted = sorted(set(names) - self._rows.keys())
        for start in range(0, len(wanted), LOT):
            lot = wanted[start : start + LOT]
            self._rows.update({name: Row({}) for name in lot})
            self._take(self._connection.execute(_named(self._table), {"partition": self._partition, "names": lot}))

    def find(self, condition: ColumnElement[bool], *order: Any, limit: int | None = None) -> list[str]:
        """Return the names of the rows that fulfil ``condition`` now, in ``order``, and read these rows."""
        self.write()
        return self._read(condition, *order, limit=limit)

    def names(self, condition: ColumnElement[bool], limit: int | None = None) -> list[str]:
        """Return the names alone of the rows that fulfil ``condition`` now, in order."""
        self.write()
        table = self._table
        wanted = select(table.c.name).where(table.c.partition == self._partition, condition)
        return list(self._connection.scalars(wanted.order_by(table.c.name).limit(limit)))

    def count(self, condition: ColumnElement[bool]) -> int:
        """Return how many rows fulfil ``condition`` now."""
        self.write()
        wanted = select(func.count()).select_from(self._table)
        found = self._connection.scalar(wanted.where(self._table.c.partition == self._partition, condition))
        return int(found or 0)

    def get(self, name: str, column: str) -> Any:
        """Return what a row holds in a column; None where there is nothing."""
        if name not in self._rows:
            self.fetch([name])
        return self._rows[name].get(column, self._codecs[column])

    def put(self, name: str, column: str, value: Any) -> None:
        """Let a row hold ``value`` in a column; None takes it away."""
        if name not in self._rows:
            self.fetch([name])
        self._rows[name].held[column] = value

    def forget(self) -> None:
        """Read everything anew from here on; what was changed is to be written before."""
        self._rows.clear()

    def write(self) -> None:
        """Write the rows that differ from what was read; one that holds nothing any more goes."""
        changed, emptied = [], []
        for name, row in self._rows.items():
            raw = self._encoded(name, row)
            if raw == row.raw:
                continue
            if raw:
                changed.append(raw)
            else:
                emptied.append(name)
            self._rows[name] = Row(raw)
        for start in range(0, len(emptied), LOT):
            gone = self._table.c.name.in_(emptied[start : start + LOT])
            self._connection.execute(delete(self._table).where(self._table.c.partition == self._partition, gone))
        if changed:
            self._upsert(changed)

    def _read(self, condition: ColumnElement[bool], *order: Any, limit: int | None = None) -> list[str]:
        wanted = select(self._table).where(self._table.c.partition == self._partition, condition)
        return self._take(self._connection.execute(wanted.order_by(*order).limit(limit)))

    def _take(self, found: Result[Any]) -> list[str]:
        """Take rows that were read, except those that were read before; return the names of all."""
        names = []
        for mapping in found.mappings():
            names.append(mapping["name"])
            known = self._rows.get(mapping["name"])
            if known is None or not known.raw:
                self._rows[mapping["name"]] = Row({key: raw for key, raw in mapping.items() if raw is not None})
        return names

    def _encoded(self, name: str, row: Row) -> Mapping[str, Any]:
        """Return the row as it is to be stored; {} where it holds nothing."""
        if not row.held:
            return row.raw
        kept = {key: row.raw[key] for key in self._codecs if key in row.raw and key not in row.held}
        told = {key: self._codecs[key].encode(value) for key, value in row.held.items() if value is not None}
        if not kept and not told:
            return {}
        derived = self._derive(name, kept | told) if self._derive else {}
        head = {"partition": self._partition, "name": name}
        return head | kept | told | {key: value for key, value in derived.items() if value is not None}

    def _upsert(self, changed: list[Mapping[str, Any]]) -> None:
        columns = self._table.columns.keys()
        statement = _upsert(self._table, self._connection.dialect.name)
        self._connection.execute(statement, [{name: raw.get(name) for name in columns} for raw in changed])


@cache
def _named(table: Table) -> Select[Any]:
    """Return the question for rows by name: putting it together anew would cost more than asking it."""
    wanted = table.c.name.in_(bindparam("names", expanding=True))
    return select(table).where(table.c.partition == bindparam("partition"), wanted)


@cache
def _upsert(table: Table, dialect: str) -> Insert:
    """Return the statement that adds rows, or replaces them whole."""
    statement = INSERTS[dialect](table)
    rest = {
        name: statement.excluded[name]
        for name in (column.name for column in table.columns)
        if name not in ("partition", "name")
    }
    replacing: Insert = statement.on_conflict_do_update(index_elements=["partition", "name"], set_=rest)
    return replacing


class ColumnView(MutableMapping[str, V]):
    """One column of the rows as a mapping from names."""

    def __init__(self, rows: Rows, column: ColumnElement[Any]) -> None:
        self._rows = rows
        self._column = column
        self._key = str(column.key)

    def __getitem__(self, name: str) -> V:
        value: V | None = self._rows.get(name, self._key)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: V) -> None:
        self._rows.put(name, self._key, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._rows.put(name, self._key, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.names(self._column.is_not(None)))

    def __len__(self) -> int:
        return self._rows.count(self._column.is_not(None))
