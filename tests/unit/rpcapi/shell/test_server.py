# SPDX-License-Identifier: Apache-2.0
"""``gantt server``."""

from conductor.store.records import Status
from rpcapi.shell import server
from tests.unit.rpcapi.shell import doubles


def fill(cluster, *named, **values):
    for name in named:
        cluster.conductor.instances[name] = doubles.instance(name, **values)


def test_list_follows_every_page(cluster, gantt):
    fill(cluster, *"abcde")
    assert [row["uuid"] for row in gantt("server", "list", "-f", "json").json] == list("abcde")


def test_list_shows_what_was_asked_for(cluster, gantt):
    fill(cluster, "a", host="host1/node1")
    fill(cluster, "b", host="host2/node1", request_id="req-2")
    fill(cluster, "c", host=None, status="ERROR")
    fill(cluster, "d", status="DELETED", host=None)

    def listed(*options):
        return [row["uuid"] for row in gantt("server", "list", "-f", "json", *options).json]

    assert listed("--host", "host1") == ["a"]
    assert listed("--host", "host2/node1") == ["b"]
    assert listed("--host", "host2/node") == []
    assert listed("--status", "error") == ["c"]
    assert listed("--request", "req-2") == ["b"]
    assert listed("--status", "deleted") == ["d"]
    assert listed("--deleted") == list("abcd")


def test_a_status_that_there_is_not_is_told_with_those_that_there_are(cluster, gantt):
    fill(cluster, "a")
    done = gantt("server", "list", "--status", "FOO")
    known = "SCHEDULING, BUILDING, ACTIVE, ERROR, DELETING, DELETED"
    assert (done.code, done.out, done.err) == (1, "", f"There is no status 'FOO'; known: {known}\n")


def test_the_statuses_are_the_conductors():
    assert tuple(Status) == server.STATUSES


def test_a_table_is_kept_narrow_and_csv_leaves_nothing_where_nothing_is(cluster, gantt):
    fill(cluster, "a", status="ERROR", host=None, reason=None)
    assert "req-1" not in gantt("server", "list").out
    assert "req-1" in gantt("server", "list", "-c", "request_id").out
    assert gantt("server", "list", "-f", "csv").out.splitlines()[1] == '"a","m1.tiny","ERROR","","","req-1"'


def test_show_tells_each_attempt_that_ended(cluster, gantt):
    history = [{"attempt": 1, "host": "host2", "outcome": "refused", "reason": "NUMA does not fit"}]
    fill(cluster, "a", attempt=2, history=history)
    assert gantt("server", "show", "a", "-f", "json").json["ended_attempts"] == history
    table = gantt("server", "show", "a").out
    assert "1: refused on host2: NUMA does not fit" in table
    assert "1970-01-01 00:00:01" in table


def test_an_unknown_server_is_one_line(cluster, gantt):
    done = gantt("server", "show", "nope")
    assert (done.code, done.err) == (1, "No instance nope is recorded\n")


def test_delete_asks_for_all_at_once(cluster, gantt):
    fill(cluster, "a", "b")
    assert gantt("server", "delete", "a", "nope").code == 1
    assert {each.status for each in cluster.conductor.instances.values()} == {"ACTIVE"}
    assert gantt("server", "delete", "a", "b").code == 0
    assert {each.status for each in cluster.conductor.instances.values()} == {"DELETING"}


def test_delete_wait_returns_when_they_are_gone(cluster, gantt):
    fill(cluster, "a", "b")
    done = gantt("server", "delete", "a", "b", "--wait")
    assert (done.code, done.err) == (0, "2 deleted\n")


def test_delete_wait_counts_a_record_that_is_forgotten_as_gone(cluster, gantt, monkeypatch):
    fill(cluster, "a", "b")
    real = cluster.conductor._advance

    def forget(uuid):
        real(uuid)
        if cluster.conductor.instances[uuid].status == "DELETED" and uuid == "a":
            del cluster.conductor.instances["a"]
            raise doubles.errors.UnknownInstance(uuid="a")

    monkeypatch.setattr(cluster.conductor, "_advance", forget)
    assert gantt("server", "delete", "a", "b", "--wait").code == 0


def test_delete_wait_fails_when_the_time_is_over(cluster, gantt):
    fill(cluster, "a")
    cluster.conductor.stuck = True
    done = gantt("server", "delete", "a", "--wait", "--timeout", "0.2")
    assert (done.code, done.err) == (1, "1 of 1 are not deleted yet: a\n")


def test_what_is_deleted_already_is_told_as_such(cluster, gantt):
    fill(cluster, "a", "b", status="DELETED", host=None)
    fill(cluster, "c")
    assert gantt("server", "delete", "a", "b").err == "2 are deleted already\n"
    assert {cluster.conductor.instances[name].status for name in "ab"} == {"DELETED"}
    assert gantt("server", "delete", "a", "b", "c", "--wait").err == "1 deleted, 2 are deleted already\n"
