# SPDX-License-Identifier: Apache-2.0
"""Copies of a whole partition."""

from sqlalchemy import Connection

from scheduler_svc.store.verbs import copies
from tests.unit.scheduler_svc.store.sql.connections import OTHER, confirmed, connect, open_partition

AS_OF = (3, 42)


def fill(connection: Connection) -> None:
    """Store one host with a claim in a partition, and another host in another one."""
    partition = open_partition(connection)
    partition.providers["h1"] = {"schema": 1, "id": "h1"}
    partition.capacity["h1"], partition.used["h1"] = {"VCPU": 4}, {"VCPU": 1}
    partition.used["only-used"] = {"VCPU": 2}
    partition.excess["h1"] = {"VCPU": 100}
    partition.services["h1"] = {"schema": 1, "enabled": True}
    partition.alive["h1"], partition.opened["h1"], partition.opened["h2"] = False, 3, 2
    partition.claims["c1"], partition.deadlines["c1"] = confirmed("c1", "h1"), 500
    partition.ended["c0"] = {1: "aborted"}
    partition.groups["g"] = {"h1": 1}
    partition.states["rack|h1"], partition.states["volume|v1"] = (2, {"watts": 5}), (1, {})
    partition.finish()
    partition.await_hosts()
    partition.stop_awaiting("h2")
    partition.finish()
    other = open_partition(connection, OTHER)
    other.providers["x"], other.used["x"], other.opened["x"] = {"schema": 1}, {"VCPU": 9}, 1
    other.finish()


def test_snapshot_has_what_is_recorded_of_each_name() -> None:
    with connect() as connection:
        fill(connection)
        partition = open_partition(connection)
        partition.epoch, partition.position = AS_OF
        snapshot = copies.snapshot(partition, ["rack", "network"])
    assert (snapshot.epoch, snapshot.position) == AS_OF
    assert snapshot.providers == {"h1": {"schema": 1, "id": "h1"}}
    assert snapshot.used == {"h1": {"VCPU": 1}, "only-used": {"VCPU": 2}}
    assert snapshot.services == {"h1": {"schema": 1, "enabled": True}}
    assert (snapshot.alive, snapshot.opened) == ({"h1": False}, {"h1": 3, "h2": 2})
    assert snapshot.states == {"rack": {"h1": {"watts": 5}}, "network": {}}


def test_dump_has_claims_sums_and_indexes_with_times_by_the_servers_clock() -> None:
    with connect() as connection:
        fill(connection)
        partition = open_partition(connection)
        partition.epoch, partition.position = AS_OF
        partition.time_ms, partition.clock_ms = 70, 100
        dump = copies.dump(partition)
    assert (dump.epoch, dump.position) == AS_OF
    assert [claim.consumer for claim in dump.claims] == ["c1"], "a tombstone is no claim"
    assert (dump.capacity, dump.groups) == ({"h1": {"VCPU": 4}}, {"g": {"h1": 1}})
    assert dump.used == {"h1": {"VCPU": 1}, "only-used": {"VCPU": 2}}
    assert (dump.deadlines, dump.by_host) == ({"c1": 500}, {("h1", "c1")})
    assert (dump.opened, list(dump.awaited)) == ({"h1": 3, "h2": 2}, ["h1"])
    assert dump.excess == {("h1", "VCPU"): 130}
