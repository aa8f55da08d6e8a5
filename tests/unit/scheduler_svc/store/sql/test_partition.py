# SPDX-License-Identifier: Apache-2.0
"""The state of a partition in tables: what one verb changes, the next one reads."""

import pytest
from sqlalchemy import Connection

from scheduler_svc.core.records import LogEntry
from scheduler_svc.store.sql.partition import SqlPartition
from tests.unit.scheduler_svc.store.sql.connections import OTHER, confirmed, connect, open_partition


def claim(partition: SqlPartition, *places: tuple[str, str]) -> None:
    """Store confirmed claims, given (consumer, node)."""
    for consumer, host in places:
        partition.claims[consumer] = confirmed(consumer, host)


def test_changes_are_written_when_the_verb_is_done() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        partition.used["h1"] = {"VCPU": 1}
        partition.epoch, partition.position, partition.time_ms, partition.clock_ms = 2, 7, 100, 200
        assert open_partition(connection).used.get("h1") is None
        assert partition.finish() is False
        again = open_partition(connection)
        assert again.used["h1"] == {"VCPU": 1}
        assert (again.epoch, again.position, again.time_ms, again.clock_ms) == (2, 7, 100, 200)
        again.used["h1"]["VCPU"] = 3  # a change within a value
        again.finish()
        assert open_partition(connection).used["h1"] == {"VCPU": 3}
        assert open_partition(connection, OTHER).used.get("h1") is None


def test_log_grows_and_is_trimmed_when_the_verb_is_done() -> None:
    with connect() as connection:
        for position in range(1, 6):
            partition = open_partition(connection, log_length=3)
            partition.position = position
            partition.append_entry(LogEntry(position, "gone", []))
            assert partition.entries(position - 1, 10) == []
            assert partition.finish() is True
        assert [entry.position for entry in open_partition(connection).entries(0, 10)] == [3, 4, 5]


@pytest.mark.parametrize(
    ("host", "consumer", "expected"),
    [
        (None, None, ["c4", "c2", "c3", "c1", "c5"]),
        ("h1", None, ["c4", "c2", "c3"]),
        ("h1/n1", None, ["c2", "c3"]),
        ("h10", None, ["c1"]),
        ("h1", "c3", ["c3"]),
        (None, "c5", ["c5"]),
        ("h9", None, []),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_claims_are_paged_by_node_and_consumer(
    host: str | None, consumer: str | None, expected: list[str], limit: int
) -> None:
    with connect() as connection:
        partition = open_partition(connection)
        claim(partition, ("c1", "h10"), ("c2", "h1/n1"), ("c3", "h1/n1"), ("c4", "h1/n0"), ("c5", "h2"))
        partition.finish()
        other = open_partition(connection, OTHER)
        claim(other, ("c9", "h1/n1"))
        other.finish()
        partition = open_partition(connection)
        listed, marker = [], None
        while True:
            page, marker = partition.page_of_claims(host, consumer, marker, limit)
            listed += [item.consumer for item in page]
            if marker is None:
                break
            assert len(page) == limit
    assert listed == expected


def test_claims_on_a_host_are_those_of_all_its_nodes() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        claim(partition, ("c1", "h1/n1"), ("c2", "h1"), ("c3", "h10"))
        assert [item.consumer for item in partition.claims_on("h1")] == ["c1", "c2"], "unwritten changes count"
        del partition.claims["c1"]
        assert [item.consumer for item in partition.claims_on("h1")] == ["c2"]


def test_claims_with_a_deadline_are_counted_as_prepared() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        claim(partition, ("c1", "h1"), ("c2", "h1"), ("c3", "h1"))
        partition.deadlines["c2"] = 500
        partition.finish()
        assert open_partition(connection).counts() == {"prepared": 1, "confirmed": 2}


def test_due_consumers_are_found_oldest_first() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        claim(partition, ("c1", "h1"), ("c2", "h1"), ("c3", "h1"), ("c4", "h1"))
        partition.deadlines.update({"c1": 30, "c2": 10, "c3": 31})
        assert partition.due_consumers(30, 10) == ["c2", "c1"]
        assert partition.due_consumers(30, 1) == ["c2"]


def test_oldest_tombstones_are_found_first() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        for consumer, ended_ms in (("c1", 30), ("c2", 10), ("c3", 20), ("c4", 99)):
            partition.ended[consumer], partition.ended_at[consumer] = {1: "aborted"}, ended_ms
        assert partition.old_tombstones(50, 2) == ["c2", "c3"]


def test_pins_are_found_from_their_expiry_on() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        partition.pins["a"], partition.pins["b"] = ("p1", 5), ("p1", 6)
        assert partition.expired_pins(5, 10) == ["a"]


def test_only_services_marked_alive_are_silent() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        partition.beats.update({"a": 5, "b": 5, "c": 6})
        partition.alive.update({"a": True, "b": False, "c": True})
        assert partition.silent_services(5) == ["a"]


def opened_host(connection: Connection) -> SqlPartition:
    partition = open_partition(connection)
    partition.opened["h1"] = 1
    partition.finish()
    return open_partition(connection)


def test_opened_hosts_are_awaited_until_they_audit() -> None:
    with connect() as connection:
        partition = opened_host(connection)
        assert not partition.awaits_any()
        partition.await_hosts()
        assert (partition.awaits_any(), partition.is_awaited("h1"), partition.is_awaited("h2")) == (True, True, False)
        partition.stop_awaiting("h1")
        partition.finish()
        assert not open_partition(connection).awaits_any()


def test_names_are_paged_in_order() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        for name in ("b", "a", "C", "d"):
            partition.states[f"rack|{name}"] = (1, {})
        partition.states["volume|e"] = (1, {})
        assert partition.page_of_names("rack", None, 3) == (["C", "a", "b"], "b")
        assert partition.page_of_names("rack", "b", 3) == (["d"], None)


def test_decisions_are_numbered_across_verbs() -> None:
    with connect() as connection:
        for number in range(3):
            partition = open_partition(connection)
            partition.record(f"r{number}", {"schema": 1}, 1000)
            partition.finish()
        assert [number for number, _request, _document in open_partition(connection).decisions_after(0, 9)] == [1, 2, 3]
