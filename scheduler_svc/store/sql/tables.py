# SPDX-License-Identifier: Apache-2.0
"""The tables, written once; `migrations` brings a database to them.

Documents are JSON texts as in the other backends. What is looked up otherwise than by name has a column of its own.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, PrimaryKeyConstraint, Table, Text

METADATA = MetaData()

# Names are compared byte by byte, as Python and Redis do: a page's marker means the same everywhere.
NAME = Text().with_variant(Text(collation="C"), "postgresql")


def _named(name: str, *columns: Column) -> Table:
    """Return a table of rows with a name within a partition."""
    head = (Column("partition", NAME, nullable=False), Column("name", NAME, nullable=False))
    return Table(name, METADATA, *head, *columns, PrimaryKeyConstraint("partition", "name"))


PARTITIONS = Table(
    "partitions",
    METADATA,
    Column("name", NAME, primary_key=True),
    Column("identity", Text, nullable=False),  # of the server that it was last served by
    Column("epoch", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("decision", BigInteger, nullable=False),  # number of the newest one
)
CONSUMERS = _named(
    "consumers",
    Column("claim", Text),
    Column("deadline_ms", BigInteger),  # until it is parked, where its host must audit first
    Column("ends", Text),  # {attempt: end}
    Column("ended_ms", BigInteger),
    Column("settled", BigInteger),  # epoch whose store knew its newest attempt
    Column("host", NAME),  # the service host of its claim
    Column("place", NAME),  # node|consumer
)
PROVIDERS = _named(
    "providers",
    Column("document", Text),
    Column("capacity", Text),
    Column("used", Text),
    Column("changed", BigInteger),
    Column("eligible", BigInteger),
    Column("excess", Text),
)
SERVICES = _named(
    "services",
    Column("document", Text),
    Column("report", Text),  # the last one applied
    Column("beat_ms", BigInteger),
    Column("alive", Boolean),
    Column("opened", BigInteger),
    Column("awaited", Boolean),
)
GROUPS = _named("server_groups", Column("hosts", Text))
PINS = _named("pins", Column("pinned", Text), Column("until_ms", BigInteger))
STATES = Table(
    "states",
    METADATA,
    Column("partition", NAME, nullable=False),
    Column("namespace", NAME, nullable=False),
    Column("name", NAME, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    PrimaryKeyConstraint("partition", "namespace", "name"),
)
LOG = Table(
    "log",
    METADATA,
    Column("partition", NAME, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("schema", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),
    PrimaryKeyConstraint("partition", "position"),
)
DECISIONS = Table(
    "decisions",
    METADATA,
    Column("partition", NAME, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("request", NAME, nullable=False),
    Column("document", Text, nullable=False),
    PrimaryKeyConstraint("partition", "number"),
    Index("decisions_by_request", "partition", "request", "number"),
)


def _where_known(name: str, table: Table, column: str) -> None:
    """Index the rows that have something in ``column``: few, as a rule."""
    known = table.c[column].is_not(None)
    Index(name, table.c.partition, table.c[column], postgresql_where=known, sqlite_where=known)


_where_known("consumers_by_deadline", CONSUMERS, "deadline_ms")
_where_known("consumers_by_end", CONSUMERS, "ended_ms")
_where_known("consumers_by_host", CONSUMERS, "host")
_where_known("consumers_by_place", CONSUMERS, "place")
_where_known("services_by_beat", SERVICES, "beat_ms")
_where_known("services_awaited", SERVICES, "awaited")
_where_known("pins_by_end", PINS, "until_ms")
