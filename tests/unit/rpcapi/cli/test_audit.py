# SPDX-License-Identifier: Apache-2.0
"""``gantt audit``: reads all sides in pages, twice if they differ."""

import pytest

from tests.unit.rpcapi.cli.doubles import instance, migration

AUDIT = ("audit", "-f", "json", "--pause", "0")


@pytest.fixture
def running(cluster, hosts):
    """Five instances that run on host1 under their claims."""
    for uuid in "abcde":
        cluster.conductor.instances[uuid] = instance(uuid)
        cluster.claims.claim(uuid)
        cluster.conductor.guests["host1"].append((uuid, 1, "host1/node1", "running"))
    return cluster


def test_cluster_without_differences_exits_0(running, gantt):
    result = gantt(*AUDIT)
    assert (result.code, result.json) == (0, [])
    assert "guests, claims and records agree" in result.err


def test_difference_exits_1_in_each_format(running, gantt):
    del running.claims.claims["c"]
    result = gantt(*AUDIT)
    assert result.code == 1
    expected = {"difference": "guest without claim", "instance": "c", "attempt": 1, "host": "host1"}
    assert result.json == [{**expected, "detail": "the claim is none"}]
    table = gantt("audit", "--pause", "0")
    assert table.code == 1 and "guest without claim" in table.out


def test_what_differs_only_in_one_reading_is_not_shown(running, gantt, monkeypatch):
    # Given an instance that is being booted during the first reading
    running.conductor.guests["host1"].append(("f", 1, "host1/node1", "running"))

    def finish_boot(seconds):
        running.conductor.instances["f"] = instance("f")
        running.claims.claim("f")

    monkeypatch.setattr("rpcapi.cli.audit.time.sleep", finish_boot)
    assert gantt(*AUDIT).code == 0


def test_hosts_that_cannot_be_compared_are_named_if_they_matter(running, gantt):
    # host3 is down, but nothing is there; host1 does not answer
    running.conductor.silent = {"host1"}
    result = gantt(*AUDIT)
    assert (result.code, [(row["difference"], row["host"]) for row in result.json]) == (
        1,
        [("host not compared", "host1")],
    )


def test_host_that_the_store_does_not_know_is_read_if_a_record_names_it(running, gantt):
    running.conductor.instances["f"] = instance("f", host="lost/node1")
    running.conductor.guests["lost"].append(("f", 1, "lost/node1", "running"))
    result = gantt(*AUDIT)
    assert [(row["difference"], row["host"]) for row in result.json] == [("guest without claim", "lost")]


def leak(consumer):
    values = {"consumer": consumer, "host": "@api/n1", "request_id": "req-1", "created_ms": 1_700_000_000_000}
    return values | {"allocations": {}}


def test_claims_for_nova_without_an_instance_exit_1_until_they_are_ended(cluster, gantt):
    assert gantt("audit", "--nova").code == 0
    cluster.scheduler.leaks = [leak("c1")]
    result = gantt("audit", "--nova", "-f", "json")
    expected = {"instance": "c1", "host": "@api/n1", "request": "req-1", "claim": "kept"}
    assert (result.code, [expected | row for row in result.json]) == (1, result.json)
    result = gantt("audit", "--nova", "--fix", "-f", "json")
    assert (result.code, [row["claim"] for row in result.json]) == (0, ["ended"])


def test_claims_for_nova_are_read_in_pages(cluster, gantt):
    cluster.scheduler.leaks = [leak(f"c{number}") for number in range(5)]
    result = gantt("audit", "--nova", "-f", "json")
    assert [row["instance"] for row in result.json] == [f"c{number}" for number in range(5)]


# -- repairs -----------------------------------------------------------------------------------------------------------

FIX = (*AUDIT, "--fix", "--timeout", "5")


def repairs(result):
    return {(row["difference"], row["instance"]): row["repair"] for row in result.json}


def test_each_difference_is_repaired_and_a_second_run_finds_none(running, gantt):
    # Given a guest without a record, a claim without a guest, and a record without a claim
    del running.conductor.instances["a"]
    running.conductor.guests["host1"].remove(("b", 1, "host1/node1", "running"))
    del running.conductor.instances["b"]
    running.conductor.guests["host1"].remove(("c", 1, "host1/node1", "running"))
    del running.claims.claims["c"]
    running.conductor.cluster_claims = running.claims
    result = gantt(*FIX)
    assert (result.code, repairs(result)) == (
        0,
        {
            ("guest without record", "a"): "adopted",
            ("claim without guest", "b"): "released",
            ("record without claim", "c"): "record corrected",
        },
    )
    assert running.conductor.adopted == [("default", "host1", ["a"])]
    assert running.conductor.released == [("host1", [("b", 1)])]
    assert (gantt(*FIX).code, gantt(*AUDIT).json) == (0, [])


def test_leaked_migration_is_ended_at_its_host_and_one_that_is_under_way_is_none(running, gantt):
    running.claims.claim("m", type="MIGRATION")
    running.conductor.guests["host1"].append(("m", 1, "host1/node1", "running"))
    running.conductor.migrations["m"] = migration("m", status="finished")
    assert gantt(*AUDIT).code == 0
    running.conductor.migrations["m"].status = "error"
    result = gantt(*AUDIT)
    assert (result.code, [(row["difference"], row["detail"]) for row in result.json]) == (
        1,
        [("leaked migration", "the migration of a is error")],
    )
    running.conductor.cluster_claims = running.claims
    result = gantt(*FIX)
    assert (result.code, repairs(result)) == (0, {("leaked migration", "m"): "ended at its host"})
    assert running.conductor.ended_migrations == [("default", "host1", [("m", 1)])]


def test_what_is_refused_or_cannot_be_repaired_is_shown_with_its_reason(running, gantt):
    # Given a guest whose agent does not know the method, and two guests of one instance
    running.conductor.guests["host1"].append(("f", 1, "host1/node1", "unjournalled"))
    running.conductor.guests["host2"].append(("a", 1, "host2/node1", "running"))
    result = gantt(*FIX)
    assert result.code == 1
    assert set(repairs(result).values()) == {"none: see 'gantt help audit'"}
    assert (running.conductor.adopted, running.conductor.released) == ([], [])


def test_repair_that_is_not_done_in_time_exits_1(running, gantt):
    running.conductor.guests["host1"].remove(("b", 1, "host1/node1", "running"))
    running.conductor.cluster_claims = type(running.claims)()  # its host does not release it
    result = gantt(*AUDIT, "--fix", "--timeout", "0.2")
    assert result.code == 1 and "1 repairs are not done after 0.2 s" in result.err


def test_nothing_is_repaired_of_a_silent_host(running, gantt):
    running.conductor.silent = {"host1"}
    del running.conductor.instances["a"]
    result = gantt(*FIX)
    assert (result.code, repairs(result)) == (1, {("host not compared", None): "none: see 'gantt help audit'"})
    assert (running.conductor.adopted, running.conductor.released) == ([], [])
