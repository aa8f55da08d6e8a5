# SPDX-License-Identifier: Apache-2.0
"""The bounded decision record, as rows."""

from scheduler_svc.store import documents
from scheduler_svc.store.decisions import record_bytes
from scheduler_svc.store.sql.decisions import TRIM_EVERY, SqlDecisions
from tests.unit.scheduler_svc.store.sql.connections import OTHER, connect, open_partition

ALL = 1 << 30  # bytes that no test records


def write(record: SqlDecisions, *requests: str, most: int = ALL) -> None:
    """Record decisions of these requests, numbered from 1."""
    for number, request in enumerate(requests, 1):
        record.record(request, {"schema": 1, "number": number}, most)


def numbers(record: SqlDecisions, after: int = 0, limit: int = 100) -> list[int]:
    return [number for number, _request, _document in record.decisions_after(after, limit)]


def test_newest_decision_of_a_request_is_returned() -> None:
    with connect() as connection:
        record, other = open_partition(connection), open_partition(connection, OTHER)
        write(record, "r1", "r2", "r1")
        write(other, "r1", "r1", "r1", "r3")
        newest = record.decision_of("r1")
        assert newest is not None and newest["number"] == 3
        assert record.decision_of("r3") is None


def test_newest_decision_of_a_project_is_returned() -> None:
    with connect() as connection:
        record, other = open_partition(connection), open_partition(connection, OTHER)
        for number, project in enumerate(("one", "one", "two"), 1):
            record.record("r1", {"schema": 1, "number": number, "project": project}, ALL)
        write(other, "r1")
        newest = record.decision_of("r1", "one")
        assert newest is not None and newest["number"] == 2
        assert record.decision_of("r1", "three") is None
        assert other.decision_of("r1", "one") is None


def test_decisions_are_listed_oldest_first_after_a_number() -> None:
    with connect() as connection:
        record = open_partition(connection)
        write(record, "r1", "r2", "r3")
        assert numbers(record, limit=2) == [1, 2]
        ((number, request, document),) = record.decisions_after(2, 10)
        assert (number, request, document["number"]) == (3, "r3", 3)


def test_oldest_decisions_beyond_the_bound_are_deleted_once_in_many() -> None:
    most = 4 * record_bytes("r", "", documents.encode({"schema": 1, "number": 1}))
    with connect() as connection:
        record, other = open_partition(connection), open_partition(connection, OTHER)
        write(other, *["r"] * TRIM_EVERY)
        write(record, *["r"] * (TRIM_EVERY - 1), most=most)
        assert len(numbers(record)) == TRIM_EVERY - 1
        write(record, "r", most=most)
        assert numbers(record) == list(range(TRIM_EVERY - 3, TRIM_EVERY + 1))
        assert len(other.decisions_after(0, 100)) == TRIM_EVERY
