# SPDX-License-Identifier: Apache-2.0
"""SQL tables of all partitions. Documents are JSON text; values by which queries filter or sort have columns."""

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, PrimaryKeyConstraint, Table, Text

from scheduler_svc.store.codecs import CLAIM, ENDS, JSON, PIN, PLAIN, PROVIDER, REPORT, SERVICE, STATE, Codec

METADATA = MetaData()

# Names compare byte by byte, like in Python and Redis, so that page markers mean the same in all backends.
NAME = Text().with_variant(Text(collation="C"), "postgresql")


def _table(name: str, *columns: Column[Any]) -> Table:
    head = (Column("partition", NAME, nullable=False), Column("name", NAME, nullable=False))
    return Table(name, METADATA, *head, *columns, PrimaryKeyConstraint("partition", "name"))


def _view(mapping: str, name: str, kind: Any, codec: Codec = PLAIN) -> Column[Any]:
    """Return the column that stores a mapping of PartitionStorage, or of ``awaited``."""
    return Column(name, kind, info={"mapping": mapping, "codec": codec})


PARTITIONS = Table(
    "partitions",
    METADATA,
    Column("name", NAME, primary_key=True),
    Column("identity", Text, nullable=False),  # identity of the last server of the partition
    Column("epoch", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("decision", BigInteger, nullable=False),  # number of the newest decision
    Column("time_ms", BigInteger),  # partition time; null before the first verb
    Column("clock_ms", BigInteger),  # server's clock when partition time was ``time_ms``
    Column("generation_base", BigInteger, nullable=False, server_default="0"),  # position at which the epoch began
    Column(
        "vocabulary", BigInteger, nullable=False, server_default="0"
    ),  # position of the last change of any provider's traits or inventories
)
# The next tables are in the order of the arguments of PartitionStorage.prefetch, on which SqlPartition.prefetch relies.
CONSUMERS = _table(
    "consumers",
    _view("claims", "claim", Text, CLAIM),
    _view("deadlines", "deadline_ms", BigInteger),  # null also for a parked claim
    _view("ended", "ends", Text, ENDS),
    _view("ended_at", "ended_ms", BigInteger),
    _view("unverified", "unverified", Integer),  # number of unverified claims, which have rows of their own
    _view("sources", "source", NAME),  # migration that has the claim at the source of the consumer's move
    Column("host", NAME),  # service host of the claim
    Column("claim_location", NAME),  # node|consumer of the claim
)
PROVIDERS = _table(
    "providers",
    _view("providers", "document", Text, PROVIDER),
    _view("capacity", "capacity", Text, JSON),
    _view("used", "used", Text, JSON),
    _view("changed", "changed", BigInteger),
    _view("eligible", "eligible", BigInteger),
    _view("built", "built", BigInteger),
    _view("excess", "excess", Text, JSON),
    _view("generations", "generation", BigInteger),  # increments since the epoch began
    _view("children", "children", Text, JSON),  # ids of API-owned providers directly below
)
SERVICES = _table(
    "services",
    _view("services", "document", Text, SERVICE),
    _view("reports", "report", Text, REPORT),
    _view("beats", "beat_ms", BigInteger),
    _view("alive", "alive", Boolean),
    _view("opened", "opened", BigInteger),
    _view("awaited", "awaited", Boolean),
    _view("clock_offsets", "clock_offset", Text, JSON),  # [ms by which its clock is ahead of the server's, time noted]
)
GROUPS = _table("server_groups", _view("groups", "hosts", Text, JSON))
PROVIDER_NAMES = _table("provider_names", _view("provider_names", "provider", NAME))
HOLDERS = _table("holders", _view("holders", "present", Integer))  # provider|claim, see allocations.holder_keys
TALLIES = _table(  # names: see tallies.key_of
    "tallies",
    _view("tallies", "tally", Text, JSON),
    Column("project", NAME, nullable=False),
)
PINS = _table("pins", _view("pins", "pinned", Text, PIN), Column("until_ms", BigInteger))
STATES = _table("states", _view("states", "document", Text, STATE))  # names: see namespaces.entry_of
VIEWS = {column.info["mapping"]: column for table in METADATA.tables.values() for column in table.c if column.info}
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
    Column("project", NAME, nullable=False, server_default=""),  # '' for no project
    Column("document", Text, nullable=False),
    Column("until_bytes", BigInteger, nullable=False, server_default="0"),  # bytes of all decisions up to this one
    PrimaryKeyConstraint("partition", "number"),
    Index("decisions_by_bytes", "partition", "until_bytes"),
    Index("decisions_by_request", "partition", "request", "number"),
    Index("decisions_by_project", "partition", "request", "project", "number"),
)


def _index_not_null(name: str, table: Table, column: str) -> None:
    """Define a partial index on ``column``, because few rows have a value in it."""
    condition = table.c[column].is_not(None)
    Index(name, table.c.partition, table.c[column], postgresql_where=condition, sqlite_where=condition)


Index("tallies_by_project", TALLIES.c.partition, TALLIES.c.project)
_index_not_null("consumers_by_deadline", CONSUMERS, "deadline_ms")
_index_not_null("consumers_by_end", CONSUMERS, "ended_ms")
_index_not_null("consumers_by_host", CONSUMERS, "host")
_index_not_null("consumers_by_claim_location", CONSUMERS, "claim_location")
_index_not_null("services_by_beat", SERVICES, "beat_ms")
_index_not_null("services_awaited", SERVICES, "awaited")
_index_not_null("pins_by_end", PINS, "until_ms")
