# SPDX-License-Identifier: Apache-2.0
"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

NAMED_TABLES: dict[str, dict[str, Any]] = {
    "consumers": {
        "claim": sa.Text,
        "deadline_ms": sa.BigInteger,
        "ends": sa.Text,
        "ended_ms": sa.BigInteger,
        "settled": sa.BigInteger,
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
    },
    "services": {
        "document": sa.Text,
        "report": sa.Text,
        "beat_ms": sa.BigInteger,
        "alive": sa.Boolean,
        "opened": sa.BigInteger,
        "awaited": sa.Boolean,
    },
    "server_groups": {"hosts": sa.Text},
    "pins": {"pinned": sa.Text, "until_ms": sa.BigInteger},
}
OTHERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "states": (("partition", "namespace", "name"), {"version": sa.BigInteger, "document": sa.Text}),
    "log": (("partition", "position"), {"schema": sa.Integer, "kind": sa.Text, "payload": sa.Text}),
    "decisions": (("partition", "number"), {"request": NAME, "document": sa.Text}),
}
NUMBERS = ("position", "number")
INDEXES = {
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
    counters = [sa.Column(name, sa.BigInteger, nullable=False) for name in ("epoch", "position", "decision")]
    op.create_table(
        "partitions",
        sa.Column("name", NAME, nullable=False),
        sa.Column("identity", sa.Text, nullable=False),
        *counters,
        sa.PrimaryKeyConstraint("name"),
    )
    for table, columns in NAMED_TABLES.items():
        _create(table, ("partition", "name"), columns, nullable=True)
    for table, (keys, columns) in OTHERS.items():
        _create(table, keys, columns, nullable=False)
    op.create_index("decisions_by_request", "decisions", ["partition", "request", "number"])
    for name, (table, column) in INDEXES.items():
        condition = sa.text(f"{column} IS NOT NULL")
        op.create_index(name, table, ["partition", column], postgresql_where=condition, sqlite_where=condition)


def _create(table: str, keys: tuple[str, ...], columns: dict[str, Any], *, nullable: bool) -> None:
    head = [sa.Column(key, sa.BigInteger if key in NUMBERS else NAME, nullable=False) for key in keys]
    rest = [sa.Column(name, kind, nullable=nullable) for name, kind in columns.items()]
    op.create_table(table, *head, *rest, sa.PrimaryKeyConstraint(*keys))
