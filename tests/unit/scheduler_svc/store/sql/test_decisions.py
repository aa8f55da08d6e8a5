# SPDX-License-Identifier: Apache-2.0
"""The bounded decision record, as rows."""

from sqlalchemy import Connection

from scheduler_svc.store import documents
from scheduler_svc.store.decisions import record_bytes
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
        newest = decisions.newest(connection, PARTITION, "r1", None)
        assert newest is not None and newest["number"] == 3
        assert decisions.newest(connection, PARTITION, "r3", None) is None


def test_newest_decision_of_a_project_is_returned() -> None:
    with connect() as connection:
        for number, project in enumerate(("one", "one", "two"), 1):
            decisions.write(connection, PARTITION, number, "r1", {"schema": 1, "number": number, "project": project})
        write(connection, "r1", partition=OTHER)
        newest = decisions.newest(connection, PARTITION, "r1", "one")
        assert newest is not None and newest["number"] == 2
        assert decisions.newest(connection, PARTITION, "r1", "three") is None
        assert decisions.newest(connection, OTHER, "r1", "one") is None


def test_decisions_are_listed_oldest_first_after_a_number() -> None:
    with connect() as connection:
        write(connection, "r1", "r2", "r3")
        assert numbers(connection, limit=2) == [1, 2]
        ((number, request, document),) = decisions.after(connection, PARTITION, 2, 10)
        assert (number, request, document["number"]) == (3, "r3", 3)


def test_oldest_decisions_beyond_the_bound_are_deleted_once_in_many() -> None:
    size = record_bytes("r", "", documents.encode({"schema": 1, "number": 1}))
    with connect() as connection:
        write(connection, *["r"] * decisions.TRIM_EVERY)
        write(connection, *["r"] * decisions.TRIM_EVERY, partition=OTHER)
        decisions.trim(connection, PARTITION, decisions.TRIM_EVERY - 1, 4 * size)
        assert len(numbers(connection)) == decisions.TRIM_EVERY
        decisions.trim(connection, PARTITION, decisions.TRIM_EVERY, 4 * size)
        assert numbers(connection) == list(range(decisions.TRIM_EVERY - 3, decisions.TRIM_EVERY + 1))
        assert len(decisions.after(connection, OTHER, 0, 100)) == decisions.TRIM_EVERY
