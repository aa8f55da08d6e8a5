# SPDX-License-Identifier: Apache-2.0
"""A database in memory with the tables of the SQL backend, for tests of single modules."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine, insert, select

from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Claim
from scheduler_svc.store.sql.partition import SqlPartition
from scheduler_svc.store.sql.tables import METADATA, PARTITIONS

PARTITION, OTHER = "p1", "p2"


@contextmanager
def connect() -> Iterator[Connection]:
    """Return a context manager that yields a connection to a new, empty database."""
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def open_partition(connection: Connection, name: str = PARTITION, *, log_length: int = 100) -> SqlPartition:
    """Return a partition as a verb sees it; it is created on its first use."""
    query = select(PARTITIONS).where(PARTITIONS.c.name == name)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        values = {"name": name, "identity": "one", "epoch": 1, "position": 0, "decision": 0}
        connection.execute(insert(PARTITIONS), values)
        row = connection.execute(query).mappings().one()
    return SqlPartition(connection, dict(row), log_length=log_length, by_group=False)


def confirmed(consumer: str, host: str) -> Claim:
    """Return a confirmed claim of one processor at the root of a node."""
    state = ClaimState.CONFIRMED
    return Claim(consumer, 1, 1, "INSTANCE", "p", "u", state, host, {host: {"VCPU": 1}}, "r", 100)
