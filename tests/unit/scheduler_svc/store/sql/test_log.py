# SPDX-License-Identifier: Apache-2.0
"""The log of a partition, as rows."""

import pytest
from sqlalchemy import update

from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.store.sql import log
from scheduler_svc.store.sql.tables import LOG
from scheduler_svc.store.verbs.partition import POSITION_LEAP
from tests.unit.scheduler_svc.store.sql.connections import OTHER, PARTITION, connect


def entries(*positions: int) -> list[LogEntry]:
    return [LogEntry(position, "alive", {"h1": True}) for position in positions]


def positions(connection, after: int = 0, limit: int = 1000, partition: str = PARTITION) -> list[int]:
    return [entry.position for entry in log.read(connection, partition, after, limit)]


def test_entries_are_read_after_a_position_in_order() -> None:
    with connect() as connection:
        log.write(connection, PARTITION, entries(12, 10, 11))
        log.write(connection, OTHER, entries(11))
        assert log.read(connection, PARTITION, 10, 10) == entries(11, 12)
        assert positions(connection, 9, limit=2) == [10, 11]
        assert positions(connection, 12) == []


def test_entry_of_a_newer_schema_is_rejected() -> None:
    with connect() as connection:
        log.write(connection, PARTITION, entries(1, 2))
        connection.execute(update(LOG).where(LOG.c.position == 2).values(schema=2))
        assert positions(connection, limit=1) == [1]
        with pytest.raises(errors.IncompatibleObject, match="stored log entry"):
            positions(connection)


def test_trim_keeps_the_newest_entries_of_its_own_partition() -> None:
    with connect() as connection:
        for partition in (PARTITION, OTHER):
            log.write(connection, partition, entries(*range(1, 11)))
        log.trim(connection, PARTITION, before=9, position=10, length=4)
        assert positions(connection) == [7, 8, 9, 10]
        assert len(positions(connection, partition=OTHER)) == 10


@pytest.mark.parametrize(("before", "position", "is_trimmed"), [(20, 29, False), (29, 30, True), (25, 41, True)])
def test_long_log_is_trimmed_once_in_many_positions(before: int, position: int, is_trimmed: bool) -> None:
    length = 10 * log.TRIMS  # trimmed when the position passes a multiple of 10
    with connect() as connection:
        log.write(connection, PARTITION, entries(-length, position))
        log.trim(connection, PARTITION, before, position, length)
        assert positions(connection, -2 * length) == ([position] if is_trimmed else [-length, position])


def test_begin_of_an_epoch_trims_nothing() -> None:
    position = 10 + POSITION_LEAP
    with connect() as connection:
        log.write(connection, PARTITION, entries(10, position))
        log.trim(connection, PARTITION, before=10, position=position, length=4)
        assert positions(connection) == [10, position]
