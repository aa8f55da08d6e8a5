# SPDX-License-Identifier: Apache-2.0
"""``gantt server``."""

import json

import pytest

from rpcapi.resources.statuses import InstanceStatus
from tests.unit.rpcapi.cli import fakes


def add_instances(cluster, *uuids, **values):
    for name in uuids:
        cluster.conductor.instances[name] = fakes.instance(name, **values)


def test_list_reads_all_pages(cluster, gantt):
    add_instances(cluster, *"abcde")
    assert [row["uuid"] for row in gantt("server", "list", "-f", "json").json] == list("abcde")


def test_list_is_filtered_by_options(cluster, gantt):
    add_instances(cluster, "a", host="host1/node1")
    add_instances(cluster, "b", host="host2/node1", request_id="req-2")
    add_instances(cluster, "c", host=None, status="ERROR")
    add_instances(cluster, "d", status="DELETED", host=None)

    def list_uuids(*options):
        return [row["uuid"] for row in gantt("server", "list", "-f", "json", *options).json]

    assert list_uuids("--host", "host1") == ["a"]
    assert list_uuids("--host", "host2/node1") == ["b"]
    assert list_uuids("--host", "host2/node") == []
    assert list_uuids("--status", "error") == ["c"]
    assert list_uuids("--request", "req-2") == ["b"]
    assert list_uuids("--status", "deleted") == ["d"]
    assert list_uuids("--deleted") == list("abcd")


def test_list_is_limited_to_the_oldest_matches(cluster, gantt):
    add_instances(cluster, *"abc", status="ERROR")
    add_instances(cluster, *"defgh")
    rows = gantt("server", "list", "-f", "json", "--limit", "3", "--status", "active").json
    assert [row["uuid"] for row in rows] == list("def")
    assert cluster.conductor.pages_read == 3  # of two servers each
    result = gantt("server", "list", "--limit", "0")
    assert result.code == 2 and "0 is not from 1 to inf" in result.err


def test_unknown_status_is_rejected_with_the_known_ones(cluster, gantt):
    add_instances(cluster, "a")
    result = gantt("server", "list", "--status", "FOO")
    assert (result.code, result.out) == (2, "")
    assert "argument --status: invalid choice: 'FOO'" in result.err
    assert all(f"'{status}'" in result.err for status in InstanceStatus)


def test_table_omits_the_request_id_and_csv_prints_empty_values(cluster, gantt):
    add_instances(cluster, "a", status="ERROR", host=None, reason=None)
    assert "req-1" not in gantt("server", "list").out
    assert "req-1" in gantt("server", "list", "-c", "request_id").out
    assert gantt("server", "list", "-f", "csv").out.splitlines()[1] == '"a","","m1.tiny","ERROR","","","req-1"'


def test_show_lists_ended_attempts(cluster, gantt):
    history = [{"attempt": 1, "host": "host2", "outcome": "refused", "reason": "NUMA does not fit"}]
    add_instances(cluster, "a", attempt=2, history=history)
    assert gantt("server", "show", "a", "-f", "json").json["ended_attempts"] == history
    table = gantt("server", "show", "a").out
    assert "1: refused on host2: NUMA does not fit" in table
    assert "1970-01-01 00:00:01" in table


def test_unknown_server_is_one_line(cluster, gantt):
    result = gantt("server", "show", "nope")
    assert (result.code, result.err) == (1, "No instance nope is recorded\n")


def test_delete_is_all_or_nothing(cluster, gantt):
    add_instances(cluster, "a", "b")
    assert gantt("server", "delete", "a", "nope").code == 1
    assert {record.status for record in cluster.conductor.instances.values()} == {"ACTIVE"}
    assert gantt("server", "delete", "a", "b").code == 0
    assert {record.status for record in cluster.conductor.instances.values()} == {"DELETING"}


def test_delete_wait_returns_when_servers_are_deleted(cluster, gantt):
    add_instances(cluster, "a", "b")
    result = gantt("server", "delete", "a", "b", "--wait")
    assert (result.code, result.err) == (0, "2 deleted\n")


def test_delete_wait_counts_a_missing_record_as_deleted(cluster, gantt, monkeypatch):
    add_instances(cluster, "a", "b")
    original_advance = cluster.conductor._advance

    def advance_and_remove(uuid):
        original_advance(uuid)
        if cluster.conductor.instances[uuid].status == "DELETED" and uuid == "a":
            del cluster.conductor.instances["a"]
            raise fakes.errors.UnknownInstance(uuid="a")

    monkeypatch.setattr(cluster.conductor, "_advance", advance_and_remove)
    assert gantt("server", "delete", "a", "b", "--wait").code == 0


def test_delete_wait_fails_at_its_timeout(cluster, gantt):
    add_instances(cluster, "a")
    cluster.conductor.stuck = True
    result = gantt("server", "delete", "a", "--wait", "--timeout", "0.2")
    assert (result.code, result.err) == (1, "1 of 1 are not deleted: a: DELETING\n")


def test_delete_reports_servers_that_are_deleted_already(cluster, gantt):
    add_instances(cluster, "a", "b", status="DELETED", host=None)
    add_instances(cluster, "c")
    assert gantt("server", "delete", "a", "b").err == "2 already deleted\n"
    assert {cluster.conductor.instances[name].status for name in "ab"} == {"DELETED"}
    assert gantt("server", "delete", "a", "b", "c", "--wait").err == "2 already deleted\n1 deleted\n"


@pytest.fixture
def watched(cluster, gantt, in_pauses):
    """Return a function that watches servers while changes are made, and returns the printed lines."""

    def watch(*changes, options=("-f", "json")):
        in_pauses(*changes)
        result = gantt("server", "list", "--watch", *options)
        assert result.code == 0
        return result.out.splitlines()

    return watch


def set_fields(cluster, uuid, **values):
    return lambda: cluster.conductor.instances.update({uuid: fakes.instance(uuid, **values)})


def test_watch_prints_each_server_and_its_changes(cluster, watched):
    add_instances(cluster, "a", status="BUILDING")
    add_instances(cluster, "old", status="DELETED", host=None)
    lines = watched(
        lambda: add_instances(cluster, "b", status="SCHEDULING", host=None),
        lambda: None,
        set_fields(cluster, "a", status="ACTIVE"),
        set_fields(cluster, "a", status="DELETED", host=None),
    )
    rows = [json.loads(line) for line in lines]
    assert [(row["uuid"], row["status"]) for row in rows] == [
        ("a", "BUILDING"),
        ("b", "SCHEDULING"),
        ("a", "ACTIVE"),
        ("a", "DELETED"),
    ]


def test_watch_follows_a_server_that_no_longer_matches(cluster, watched):
    add_instances(cluster, "a", status="BUILDING")
    add_instances(cluster, "b")
    lines = watched(
        set_fields(cluster, "a", status="ACTIVE"), options=("--status", "building", "-f", "csv", "-c", "status")
    )
    assert lines == ['"status"', '"BUILDING"', '"ACTIVE"']


def test_watch_aligns_a_table_and_takes_no_limit(cluster, gantt, watched):
    add_instances(cluster, "a", reason="first\nsecond")
    header, row = watched(options=("-c", "uuid", "-c", "status", "-c", "reason"))
    assert header == "uuid  status  reason"
    assert row == "a     ACTIVE  first, second"
    result = gantt("server", "list", "--watch", "--limit", "3")
    assert (result.code, result.err) == (1, "--limit cannot be used with --watch\n")


UUIDS = [f"00000000-0000-0000-0000-00000000a00{number}" for number in range(4)]


@pytest.fixture
def instances(cluster):
    names = ("web", "db", "web", None)
    for uuid, name in zip(UUIDS, names, strict=True):
        cluster.conductor.instances[uuid] = fakes.instance(uuid, name=name)
    return cluster.conductor.instances


def test_server_is_shown_by_name_and_by_uuid(instances, gantt):
    assert gantt("server", "show", "db", "-f", "json").json["uuid"] == UUIDS[1]
    assert gantt("server", "show", UUIDS[0], "-f", "json").json["name"] == "web"
    assert [row["name"] for row in gantt("server", "list", "-f", "json").json] == ["web", "db", "web", None]


def test_name_of_several_servers_is_rejected_with_their_uuids(instances, gantt):
    result = gantt("server", "delete", "db", "web")
    message = f"2 servers have the name 'web'; use a uuid: {UUIDS[0]}, {UUIDS[2]}\n"
    assert (result.code, result.err) == (1, message)
    assert {instance.status for instance in instances.values()} == {"ACTIVE"}


def test_name_means_the_server_that_is_not_deleted(instances, gantt):
    instances[UUIDS[0]].status = "DELETED"
    assert gantt("server", "delete", "web", UUIDS[2], "db").err == "2 to be deleted\n"
    assert [instances[uuid].status for uuid in UUIDS[:3]] == ["DELETED", "DELETING", "DELETING"]


def test_unknown_name_is_one_line(instances, gantt):
    assert gantt("server", "show", "mail").err == "No instance mail is recorded\n"


@pytest.mark.parametrize("spelling", [UUIDS[1].upper(), UUIDS[1].replace("-", "")])
def test_uuid_is_found_in_any_spelling(instances, gantt, spelling):
    assert gantt("server", "show", spelling, "-f", "json").json["name"] == "db"
