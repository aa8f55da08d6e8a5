# SPDX-License-Identifier: Apache-2.0
"""The bounded decision record, as rows."""

from sqlalchemy import Connection

from scheduler_svc.store.sql import decisions
from tests.unit.scheduler_svc.store.sql.connections import OTHER, PARTITION, connect


def write(connection: Connection, *requests: str, partition: str = PARTITION) -> None:
    """Record decisions of these requests, numbered from 1."""
    for number, request in enumerate(requests, 1):
        decisions.write(connection, partition, number, request, {"schema": 1, "number": number})


def numbers(connection: Connection, after: int = 0, limit: int = 100) -> list[int]:
    return [number for number, _request, _document in decisions.after(connection, PARTITION, after, limit)]


def test_newest_decision_of_a_request_is_returned() -> None:
    with connect() as connection:
        write(connection, "r1", "r2", "r1")
        write(connection, "r1", "r1", "r1", "r3", partition=OTHER)
        newest = decisions.newest(connection, PARTITION, "r1")
        assert newest is not None and newest["number"] == 3
        assert decisions.newest(connection, PARTITION, "r3") is None


def test_decisions_are_listed_oldest_first_after_a_number() -> None:
    with connect() as connection:
        write(connection, "r1", "r2", "r3")
        assert numbers(connection, limit=2) == [1, 2]
        ((number, request, document),) = decisions.after(connection, PARTITION, 2, 10)
        assert (number, request, document["number"]) == (3, "r3", 3)


def test_oldest_decisions_beyond_the_bound_are_deleted() -> None:
    with connect() as connection:
        write(connection, *["r"] * 10)
        write(connection, *["r"] * 10, partition=OTHER)
        decisions.trim(connection, PARTITION, 10, 4)
        assert numbers(connection) == [7, 8, 9, 10]
        assert len(decisions.after(connection, OTHER, 0, 100)) == 10


def test_long_record_is_trimmed_once_in_many_decisions() -> None:
    most = 3 * decisions.TRIMS
    with connect() as connection:
        decisions.write(connection, PARTITION, -most, "r", {"schema": 1})
        for newest, count in ((1, 1), (2, 1), (3, 0)):
            decisions.trim(connection, PARTITION, newest, most)
            assert len(numbers(connection, after=-2 * most)) == count
