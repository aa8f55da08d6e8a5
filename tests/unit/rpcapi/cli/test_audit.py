# SPDX-License-Identifier: Apache-2.0
"""``gantt audit``: reads all sides in pages, twice if they differ."""

import pytest

from tests.unit.rpcapi.cli.fakes import instance, migration

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


def plans(result):
    return {row["instance"]: row["plan"] for row in result.json}


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
    assert plans(result) == {
        "a": "adopt instance a running on host1",
        "b": "release the unused claim of b on host1",
        "c": "correct the record of c, found on host1, by its claim",
    }
    assert all(f"plan: {text}\n" in result.err for text in plans(result).values())
    assert running.conductor.adopted == [("default", "host1", ["a"])]
    assert running.conductor.released == [("host1", [("b", 1)])]
    assert (gantt(*FIX).code, gantt(*AUDIT).json) == (0, [])


@pytest.fixture
def leaked(running):
    """Instance a runs on host1 as its second attempt; its first one is the source of migration m on host2."""
    running.conductor.guests["host1"].remove(("a", 1, "host1/node1", "running"))
    running.conductor.guests["host1"].append(("a", 2, "host1/node1", "running"))
    running.conductor.instances["a"] = instance("a", attempt=2)
    running.claims.claim("a", attempt=2)
    running.claims.source("a")
    running.conductor.guests["host2"].append(("a", 1, "host2/node1", "running"))
    running.conductor.cluster_claims = running.claims
    return running


def power_off(leaked):
    leaked.conductor.guests["host2"] = [("a", 1, "host2/node1", "stopped")]


COPY = "the guest of instance a on host2, the source of its migration"
SOURCE = ("default", "host2", [("a", 1)])


def test_migration_that_is_under_way_is_no_difference(leaked, gantt):
    leaked.conductor.migrations["m"] = migration("m", status="finished", source_host="host2/node1")
    assert gantt(*AUDIT).code == 0
    leaked.conductor.migrations["m"].status = "error"
    result = gantt(*AUDIT)
    expected = [("leaked migration", "a", 1, "host2", "migration m is error")]
    assert (result.code, [tuple(row.values()) for row in result.json]) == (1, expected)


@pytest.mark.parametrize("consent", [("--yes",), ("--end", "a")])
@pytest.mark.parametrize("status", ["confirmed", "completed", "error"])
def test_leftover_guest_that_runs_is_ended_only_with_consent(leaked, gantt, status, consent):
    leaked.conductor.migrations["m"] = migration("m", status=status)
    plan = f"end {COPY}, which keeps its guest on host1; it may be running"
    result = gantt(*FIX)
    assert (result.code, plans(result), repairs(result)) == (
        1,
        {"a": plan},
        {("leaked migration", "a"): "none: needs --yes"},
    )
    assert f"plan: {plan}\n" in result.err
    assert "1 guests that may be running are kept; repeat with --yes to end them" in result.err
    assert leaked.conductor.ended_migrations == []
    result = gantt(*FIX, *consent)
    assert (result.code, repairs(result)) == (0, {("leaked migration", "a"): "ended at its host"})
    assert leaked.conductor.ended_migrations == [(*SOURCE, True)]


def test_leftover_guest_that_is_off_and_claim_without_guest_are_ended_without_consent(leaked, gantt):
    leaked.conductor.migrations["m"] = migration("m", status="confirmed")
    power_off(leaked)
    leaked.claims.source("z", "n")
    result = gantt(*FIX)
    assert (result.code, plans(result)) == (
        0,
        {
            "a": f"end {COPY}, which keeps its guest on host1",
            "z": "release the unused claim of z on host2, the source of its migration",
        },
    )
    calls = [("default", "host2", [(uuid, 1)], False) for uuid in "az"]
    assert sorted(leaked.conductor.ended_migrations) == calls


def test_what_needs_no_consent_is_done_beside_what_does(leaked, gantt):
    leaked.conductor.migrations["m"] = migration("m", status="confirmed")
    del leaked.conductor.instances["b"]
    result = gantt(*FIX)
    assert (result.code, repairs(result)) == (
        1,
        {("leaked migration", "a"): "none: needs --yes", ("guest without record", "b"): "adopted"},
    )
    assert (leaked.conductor.adopted, leaked.conductor.ended_migrations) == ([("default", "host1", ["b"])], [])


@pytest.mark.parametrize("is_off", [True, False])
def test_guest_that_may_be_the_original_is_ended_only_by_name(leaked, gantt, is_off):
    # Given a migration that the conductors' store has forgotten: host2 may hold the original
    if is_off:
        power_off(leaked)
    for consent in ((), ("--yes",)):
        result = gantt(*FIX, *consent)
        assert (result.code, repairs(result)) == (1, {("leaked migration", "a"): "none: needs --end a"})
        (plan,) = plans(result).values()
        assert plan == (
            f"none: either {COPY}, or its guest on host1 is the original; the migration has no "
            "record; compare them, and to end this one repeat with --end a"
        )
        assert leaked.conductor.ended_migrations == []
    assert gantt(*FIX, "--end", "a").code == 0
    assert leaked.conductor.ended_migrations == [(*SOURCE, True)]


def test_guest_that_may_be_the_only_copy_is_never_ended(leaked, gantt):
    leaked.conductor.migrations["m"] = migration("m", status="error")
    leaked.conductor.instances["a"].status = "ERROR"
    leaked.conductor.guests["host1"].remove(("a", 2, "host1/node1", "running"))
    del leaked.claims.claims["a"]
    result = gantt(*FIX, "--yes")
    assert (result.code, repairs(result)) == (1, {("leaked migration", "a"): "none"})
    assert plans(result) == {"a": f"none: {COPY}, may be the only one; the record is ERROR, attempt 2 on host1/node1"}
    assert gantt(*FIX, "--end", "a").code == 1
    assert leaked.conductor.ended_migrations == []


@pytest.mark.parametrize("status", [None, "error", "reverted"])
def test_source_that_the_record_names_is_corrected_and_never_ended(leaked, gantt, status):
    # Given a move that the conductors' store, or the end of a move that the partition has forgotten
    if status is not None:
        leaked.conductor.migrations["m"] = migration("m", status=status)
    leaked.conductor.instances["a"] = instance("a", host="host2/node1")
    leaked.conductor.guests["host1"].remove(("a", 2, "host1/node1", "running"))
    del leaked.claims.claims["a"]
    result = gantt(*FIX, "--yes", "--timeout", "0")
    plan = "correct the record of a by its claims: the one on host2 is the source of a migration"
    assert (plans(result), repairs(result)) == ({"a": plan}, {("leaked migration", "a"): "record corrected"})
    assert leaked.conductor.compared == ["a"]
    assert gantt(*FIX, "--end", "a").code == 1
    assert leaked.conductor.ended_migrations == []


@pytest.mark.parametrize(
    ("change", "remains"), [("deleted", "which is deleted"), ("SHELVED_OFFLOADED", "which keeps its image")]
)
def test_leftover_guest_of_an_instance_without_a_guest_is_named_so(leaked, gantt, change, remains):
    leaked.conductor.migrations["m"] = migration("m", status="confirmed")
    leaked.conductor.guests["host1"].remove(("a", 2, "host1/node1", "running"))
    del leaked.claims.claims["a"]
    if change == "deleted":
        del leaked.conductor.instances["a"]
    else:
        leaked.conductor.instances["a"].status, leaked.conductor.instances["a"].host = change, None
    result = gantt(*FIX, "--yes")
    assert (result.code, plans(result)) == (0, {"a": f"end {COPY}, {remains}; it may be running"})


def test_move_without_any_record_is_adopted_by_the_guest_at_its_source(leaked, gantt):
    del leaked.conductor.instances["a"]
    leaked.claims.claim("a", attempt=2, role="destination", migration="m")
    result = gantt(*FIX, "--yes", "--timeout", "0")
    assert repairs(result) == {("leaked migration", "a"): "adopted", ("guest without record", "a"): "none"}
    assert [row["plan"] for row in result.json] == [
        "adopt instance a running on host2",
        "none: host1 is the destination of migration m, which is adopted at its source; fence the "
        "source if its host is lost",
    ]
    assert leaked.conductor.adopted == [("default", "host2", ["a"])]
    assert leaked.conductor.ended_migrations == []


def test_adoption_or_correction_that_would_end_another_guest_is_not_planned(running, gantt):
    # Given an unverified attempt beside an earlier claim, and a guest whose attempt the record has as ended
    running.conductor.guests["host2"] += [("f", 2, "host2/node1", "running"), ("g", 1, "host2/node1", "running")]
    running.claims.claim("f", host="host2/node1", state="unverified", attempt=2)
    running.claims.claims["f earlier"] = {**running.claims.claims["f"], "attempt": 1, "state": "confirmed"}
    running.claims.claims["f earlier"]["host"] = "host1/node1"
    running.conductor.instances["f"] = instance("f", attempt=2, host="host2/node1")
    running.claims.claim("g", host="host2/node1")
    ended = {"attempt": 1, "host": "host2/node1", "outcome": "lost", "reason": ""}
    running.conductor.instances["g"] = instance("g", attempt=2, host=None, status="ERROR", history=[ended])
    result = gantt(*FIX, "--yes")
    assert result.code == 1
    assert repairs(result) == {("unverified claim", "f"): "none", ("guest and record differ", "g"): "none"}
    assert "has other claims: attempt 1 on host1/node1" in plans(result)["f"]
    assert "the record says that attempt 1 ended, but host2/node1 has its claim" in plans(result)["g"]
    assert running.conductor.adopted == [] and running.conductor.instances["g"].status == "ERROR"


@pytest.mark.parametrize(
    "options",
    [("--yes",), ("--end", "a"), ("--nova", "--fix", "--yes"), ("--fix", "--end", "b"), ("--fix", "--end", "x")],
)
def test_consent_to_nothing_is_refused_before_any_repair(leaked, gantt, options):
    leaked.conductor.migrations["m"] = migration("m", status="confirmed")
    del leaked.conductor.instances["b"]
    result = gantt(*AUDIT, *options)
    assert (result.code, result.out) == (1, "")
    assert "--end" in result.err
    assert (leaked.conductor.adopted, leaked.conductor.ended_migrations) == ([], [])


def test_what_is_refused_or_cannot_be_repaired_is_shown_with_its_reason(running, gantt):
    # Given a guest whose agent does not know the method, and two guests of one instance
    running.conductor.guests["host1"].append(("f", 1, "host1/node1", "unjournalled"))
    running.conductor.guests["host2"].append(("a", 1, "host2/node1", "running"))
    result = gantt(*FIX)
    assert result.code == 1
    assert set(repairs(result).values()) == {"none"}
    assert plans(result) == {
        "f": "none: restart its agent",
        "a": "none: compare the copies, then delete the instance, or fence the host of the wrong copy",
    }
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
    assert (result.code, repairs(result)) == (1, {("host not compared", None): "none"})
    assert (running.conductor.adopted, running.conductor.released) == ([], [])
