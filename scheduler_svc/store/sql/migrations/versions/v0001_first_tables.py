# SPDX-License-Identifier: Apache-2.0
"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

# Tables keyed by partition and name, with their nullable columns.
NAMED_TABLES: dict[str, dict[str, Any]] = {
    "consumers": {
        "claim": sa.Text,
        "deadline_ms": sa.BigInteger,
        "ends": sa.Text,
        "ended_ms": sa.BigInteger,
        "unverified": sa.Integer,
        "source": NAME,
        "host": NAME,
        "place": NAME,
    },
    "providers": {
        "document": sa.Text,
        "capacity": sa.Text,
        "used": sa.Text,
        "changed": sa.BigInteger,
        "eligible": sa.BigInteger,
        "excess": sa.Text,
        "generation": sa.BigInteger,
        "children": sa.Text,
    },
    "provider_names": {"provider": NAME},
    "services": {
        "document": sa.Text,
        "report": sa.Text,
        "beat_ms": sa.BigInteger,
        "alive": sa.Boolean,
        "opened": sa.BigInteger,
        "awaited": sa.Boolean,
        "clock_offset": sa.Text,
    },
    "holders": {"present": sa.Integer},
    "server_groups": {"hosts": sa.Text},
    "pins": {"pinned": sa.Text, "until_ms": sa.BigInteger},
}
INDEXES = {
    "tallies_by_project": ("tallies", "project"),
    "decisions_by_bytes": ("decisions", "until_bytes"),
    "decisions_by_request": ("decisions", "request", "number"),
    "decisions_by_project": ("decisions", "request", "project", "number"),
}
# Indexes of the few rows in which the column is not null.
PARTIAL_INDEXES = {
    "consumers_by_deadline": ("consumers", "deadline_ms"),
    "consumers_by_end": ("consumers", "ended_ms"),
    "consumers_by_host": ("consumers", "host"),
    "consumers_by_place": ("consumers", "place"),
    "services_by_beat": ("services", "beat_ms"),
    "services_awaited": ("services", "awaited"),
    "pins_by_end": ("pins", "until_ms"),
}


def upgrade() -> None:
    """Create all of them."""
    op.create_table(
        "partitions",
        _key("name"),
        sa.Column("identity", sa.Text, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("epoch", "position", "decision")),
        *(sa.Column(name, sa.BigInteger) for name in ("time_ms", "clock_ms")),
        *(_with_default(name, sa.BigInteger, "0") for name in ("generation_base", "vocabulary")),
        sa.PrimaryKeyConstraint("name"),
    )
    for table, columns in NAMED_TABLES.items():
        _create(table, ("partition", "name"), *(sa.Column(name, kind) for name, kind in columns.items()))
    _create("tallies", ("partition", "name"), sa.Column("tally", sa.Text), _key("project"))
    _create(
        "states",
        ("partition", "namespace", "name"),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    _create(
        "log",
        ("partition", "position"),
        sa.Column("schema", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("kind", "payload")),
    )
    _create(
        "decisions",
        ("partition", "number"),
        _key("request"),
        _with_default("project", NAME, ""),
        sa.Column("document", sa.Text, nullable=False),
        _with_default("until_bytes", sa.BigInteger, "0"),
    )
    for index, (table, *names) in INDEXES.items():
        op.create_index(index, table, ["partition", *names])
    for index, (table, name) in PARTIAL_INDEXES.items():
        condition = sa.text(f"{name} IS NOT NULL")
        op.create_index(index, table, ["partition", name], postgresql_where=condition, sqlite_where=condition)


def _create(table: str, keys: tuple[str, ...], *columns: sa.Column) -> None:
    op.create_table(table, *map(_key, keys), *columns, sa.PrimaryKeyConstraint(*keys))


def _key(name: str) -> sa.Column:
    return sa.Column(name, sa.BigInteger if name in ("position", "number") else NAME, nullable=False)


def _with_default(name: str, kind: Any, default: str) -> sa.Column:
    return sa.Column(name, kind, nullable=False, server_default=default)
