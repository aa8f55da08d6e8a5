# SPDX-License-Identifier: Apache-2.0
"""The documents of declared namespaces, as rows."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, select

from scheduler_svc.store import documents
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.sql.rows import INSERTS
from scheduler_svc.store.sql.tables import STATES


def read(connection: Connection, partition: str, namespace: str, name: str) -> Versioned | None:
    """Return (version, document), or None."""
    query = select(STATES.c.version, STATES.c.document).where(_is(partition, namespace), STATES.c.name == name)
    row = connection.execute(query).one_or_none()
    return None if row is None else (row.version, _state(row.document))


def read_all(connection: Connection, partition: str, namespace: str) -> dict[str, Mapping[str, Any]]:
    """Return all documents of a namespace by name."""
    row = connection.execute(select(STATES.c.name, STATES.c.document).where(_is(partition, namespace)))
    return {name: _state(text) for name, text in row}


def write(connection: Connection, partition: str, namespace: str, name: str, versioned: Versioned | None) -> None:
    """Store a document with its version, or delete it (None)."""
    if versioned is None:
        connection.execute(delete(STATES).where(_is(partition, namespace), STATES.c.name == name))
        return
    version, state = versioned
    changed = {"version": version, "document": documents.encode({"schema": SCHEMA, "state": state})}
    statement = INSERTS[connection.dialect.name](STATES).on_conflict_do_update(
        index_elements=["partition", "namespace", "name"], set_=changed
    )
    connection.execute(statement, {"partition": partition, "namespace": namespace, "name": name, **changed})


def _is(partition: str, namespace: str) -> ColumnElement[bool]:
    return and_(STATES.c.partition == partition, STATES.c.namespace == namespace)


def _state(text: str) -> dict[str, Any]:
    state: dict[str, Any] = documents.decode(text, "host state")["state"]
    return state
