# SPDX-License-Identifier: Apache-2.0
"""``gantt host drain`` and ``evacuate`` are bounded, continue if repeated, and name what could not move."""

import pytest

from rpcapi import errors
from rpcapi.clients.conductor import ConductorAPI
from tests.unit.rpcapi.cli.fakes import migration
from tests.unit.rpcapi.cli.test_server import add_instances

DRAIN = ("host", "drain", "host1", "--cold", "-f", "json")


@pytest.fixture
def full(cluster, hosts):
    """Five servers on host1, one that is being deleted there, and one on host2."""
    add_instances(cluster, *"abcde")
    add_instances(cluster, "x", host="host2/node1")
    add_instances(cluster, "z", status="DELETING")
    return cluster


def moved(cluster):
    """Return the servers whose migration was requested, in order."""
    assert {kind for kind, _uuids, _options in cluster.conductor.moves} <= {"migrate"}
    return [uuid for _kind, uuids, _options in cluster.conductor.moves for uuid in uuids]


@pytest.mark.parametrize("parallel", ["1", "4", "100"])
def test_host_is_disabled_and_all_its_servers_are_moved_and_confirmed(full, gantt, parallel):
    result = gantt(*DRAIN, "--parallel", parallel)
    assert (result.code, result.json) == (0, [])
    assert result.err == "5 of 5 servers of host1 are moved\n"
    assert moved(full) == list("abcde")
    assert sorted(full.conductor.confirmed) == sorted(full.conductor.migrations)
    assert full.scheduler.state["service"]["host1"]["enabled"] is False
    assert full.scheduler.state["service"]["host1"]["disabled_reason"] == "drained"


def test_servers_that_run_are_migrated_live_by_default_and_others_cold(full, gantt):
    full.conductor.migration_status = "completed"
    full.conductor.instances["b"].status = "REBUILD"
    result = gantt("host", "drain", "host1", "-f", "json")
    assert (result.code, [row["server"] for row in result.json]) == (1, ["b"])
    kinds = [(kind, uuids) for kind, uuids, _options in full.conductor.moves]
    assert kinds == [("migrate" if name == "b" else "live-migrate", [name]) for name in "abcde"]
    assert full.conductor.confirmed == []


def test_live_and_cold_exclude_each_other(full, gantt):
    result = gantt(*DRAIN, "--live")
    assert (result.code, moved(full)) == (2, [])
    assert "not allowed with argument" in result.err


@pytest.mark.parametrize("parallel", ["1", "3", "100"])
def test_members_of_an_affinity_group_move_together_and_others_alone(full, gantt, parallel):
    affinity = {"group_id": "g", "group_policy": "affinity"}
    for name in "bde":
        full.claims.claim(name, **affinity)
    full.claims.claim("x", host="host2/node1", **affinity)
    for name in "ac":
        full.claims.claim(name, group_id="h", group_policy="anti-affinity")
    result = gantt(*DRAIN, "--parallel", parallel)
    assert (result.code, result.json) == (0, [])
    assert [uuids for _kind, uuids, _options in full.conductor.moves] == [["a"], ["b", "d", "e"], ["c"]]


def test_each_member_of_a_group_that_cannot_move_is_named(full, gantt):
    for name in "bd":
        full.claims.claim(name, group_id="g", group_policy="affinity")
    full.conductor.instances["d"].status = "REBUILD"
    result = gantt(*DRAIN)
    reasons = {row["server"]: row["reason"] for row in result.json}
    assert (result.code, reasons) == (1, dict.fromkeys("bd", "Instance d: it is REBUILD"))
    assert result.err == "3 of 5 servers of host1 are moved, 2 could not be\n"


def test_shelved_servers_are_offloaded_so_that_the_rest_of_their_group_can_move(full, gantt):
    for name in "bde":
        full.claims.claim(name, group_id="g", group_policy="affinity")
    full.conductor.instances["b"].status = "SHELVED"
    full.conductor.instances["d"].status = "OFFLOADING"
    result = gantt(*DRAIN)
    assert (result.code, result.json) == (0, [])
    assert result.err == "3 of 5 servers of host1 are moved, 2 offloaded\n"
    assert {full.conductor.instances[name].status for name in "bd"} == {"SHELVED_OFFLOADED"}
    assert moved(full) == list("ace")


def test_shelved_server_that_is_not_offloaded_in_time_is_named(full, gantt):
    full.conductor.instances["b"].status = "SHELVED"
    full.conductor.stuck = True
    for name in "acde":
        full.conductor.instances[name].host = "host2/node1"
    result = gantt(*DRAIN, "--timeout", "0.2")
    assert (result.code, result.json) == (1, [{"server": "b", "reason": "it is OFFLOADING"}])


def test_servers_that_are_on_their_way_to_the_host_are_named_and_those_still_elsewhere_are_not_moved(full, gantt):
    full.conductor.instances["x"].status = "MIGRATING"
    full.conductor.migrations["mx"] = migration(
        "mx",
        instance="x",
        kind="live-migration",
        status="migrating",
        source_host="host2/node1",
        destination_host="host1/node1",
    )
    result = gantt(*DRAIN)
    why = "its migration mx to host1 is migrating: run the command again after it has ended"
    assert (result.code, result.json) == (1, [{"server": "x", "reason": why}])
    assert moved(full) == list("abcde")


def test_reason_of_a_disabled_host_is_kept(full, gantt):
    full.conductor.instances["x"].host = None
    assert gantt("host", "drain", "host2").err == "0 of 0 servers of host2 are moved\n"
    assert full.scheduler.state["service"]["host2"]["disabled_reason"] == "broken fan"


def test_what_could_not_move_is_named_with_its_reason(full, gantt):
    full.conductor.instances["b"].status = "REBUILD"
    full.conductor.migration_status, full.conductor.migration_reason = "error", "No valid host: 3 not enough VCPU"
    result = gantt(*DRAIN)
    assert result.code == 1
    reasons = {row["server"]: row["reason"] for row in result.json}
    assert reasons == {"b": "Instance b: it is REBUILD", **dict.fromkeys("acde", "No valid host: 3 not enough VCPU")}
    assert result.err == "0 of 5 servers of host1 are moved, 5 could not be\n"
    assert full.conductor.confirmed == []


def test_repeated_command_confirms_what_an_earlier_one_moved_and_leaves_resizes_to_their_users(full, gantt):
    # Given a command that was interrupted, and a server that its user resizes
    for name, kind in (("a", "migration"), ("b", "resize")):
        full.conductor.instances[name].status = "VERIFY_RESIZE"
        full.conductor.instances[name].host = "host2/node1"
        full.conductor.migrations[f"m{name}"] = migration(f"m{name}", instance=name, kind=kind, status="finished")
    result = gantt(*DRAIN)
    assert (result.code, result.json) == (
        1,
        [{"server": "b", "reason": "its resize mb waits to be confirmed or reverted"}],
    )
    assert moved(full) == list("cde") and "ma" in full.conductor.confirmed and "mb" not in full.conductor.confirmed
    assert result.err == "4 of 5 servers of host1 are moved, 1 could not be\n"


def test_unknown_host_and_wrong_arguments_move_nothing(full, gantt):
    assert gantt("host", "drain", "host9").err == "Unknown host or node 'host9'; see 'gantt host list'\n"
    assert "only a service host" in gantt("host", "drain", "host1/node1").err
    assert gantt(*DRAIN, "--parallel", "0").code == 2
    assert full.conductor.moves == [] and full.scheduler.state["service"]["host1"]["enabled"] is True


EVACUATE = ("host", "evacuate", "host1", "-f", "json")
UUIDS = "abcde"


@pytest.fixture
def fenced(cluster):
    """Five servers in ERROR on host1, one that runs on host2, and one without a host."""
    add_instances(cluster, *UUIDS, status="ERROR")
    add_instances(cluster, "x", host="host2/node1")
    add_instances(cluster, "y", host=None, status="SCHEDULING")
    add_instances(cluster, "z", status="DELETING")
    return cluster


def calls(cluster):
    """Return the servers of each call, as one word."""
    return ["".join(uuids) for uuids, _target in cluster.conductor.evacuations]


@pytest.mark.parametrize(
    ("parallel", "servers"), [(1, ["a", "b", "c", "d", "e"]), (2, ["ab", "cd", "e"]), (50, ["abcde"])]
)
def test_all_servers_of_the_host_are_evacuated_so_many_at_a_time_and_in_one_call(fenced, gantt, parallel, servers):
    result = gantt(*EVACUATE, "--parallel", str(parallel))
    assert (result.code, result.json) == (0, [])
    assert result.err == "5 of 5 servers of host1 are evacuated\n"
    assert calls(fenced) == servers
    assert fenced.conductor.most_open == min(parallel, 5)


def test_calls_are_halved_until_only_what_cannot_be_evacuated_is_refused(fenced, gantt):
    fenced.conductor.instances["d"].status = "SHELVED"
    result = gantt(*EVACUATE)
    assert (result.code, result.json) == (1, [{"server": "d", "reason": "Instance d: it is SHELVED"}])
    assert calls(fenced) == ["abcde", "ab", "cde", "c", "de", "d", "e"]
    assert result.err == "4 of 5 servers of host1 are evacuated, 1 could not be\n"


def test_each_server_keeps_its_migration_when_a_call_is_halved(fenced, gantt, monkeypatch):
    """A call that lost against concurrent updates has recorded some of its servers."""
    requested = {}
    evacuate = ConductorAPI.evacuate_instances

    def fail_first(self, ctxt, uuids, migrations, target=None):
        is_first = not requested
        for server, move in zip(uuids, migrations, strict=True):
            requested.setdefault(server, set()).add(move)
        if is_first:
            raise errors.Conflict(what="The change of a", why="retry")
        evacuate(self, ctxt, uuids, migrations, target)

    monkeypatch.setattr(ConductorAPI, "evacuate_instances", fail_first)
    assert gantt(*EVACUATE).code == 0
    assert {server: len(moves) for server, moves in requested.items()} == dict.fromkeys(UUIDS, 1)


def test_what_could_not_be_evacuated_is_named_with_its_reason(fenced, gantt):
    fenced.conductor.instances["b"].status = "SHELVED"
    fenced.conductor.hopeless["d"] = "No valid host: 3 not enough VCPU"
    result = gantt(*EVACUATE, "--parallel", "2")
    assert result.code == 1
    assert {row["server"]: row["reason"] for row in result.json} == {
        "b": "Instance b: it is SHELVED",
        "d": "No valid host: 3 not enough VCPU",
    }
    assert result.err == "3 of 5 servers of host1 are evacuated, 2 could not be\n"


def test_repeated_command_continues_what_is_under_way(fenced, gantt):
    # Given a command that was interrupted
    moves = {name: migration(f"m{name}", instance=name, kind="evacuation", status="preparing") for name in "ab"}
    fenced.conductor.migrations |= {move.uuid: move for move in moves.values()}
    fenced.conductor.migrations["old"] = migration("old", instance="c", status="error", kind="evacuation")
    fenced.conductor.instances["a"].host = fenced.conductor.instances["b"].host = None
    result = gantt(*EVACUATE)
    assert (result.code, result.err) == (0, "5 of 5 servers of host1 are evacuated\n")
    assert calls(fenced) == ["cde"]


def test_wait_ends_and_names_what_is_still_under_way(fenced, gantt):
    fenced.conductor.stuck = True
    result = gantt(*EVACUATE, "--parallel", "2", "--timeout", "0")
    assert result.code == 1
    assert [row["server"] for row in result.json] == ["a", "b"]
    assert "is still in progress after 0 s; run the command again" in result.json[0]["reason"]


def test_host_that_is_up_ends_the_command_at_its_first_call(fenced, gantt):
    fenced.conductor.up = "host1"
    result = gantt(*EVACUATE)
    assert result.code == 1 and result.err.startswith("Host 'host1' is up")
    assert len(fenced.conductor.evacuations) == 1


def test_host_without_servers_and_wrong_arguments(fenced, gantt):
    assert gantt("host", "evacuate", "host9").err == "0 of 0 servers of host9 are evacuated\n"
    assert "only a service host" in gantt("host", "evacuate", "host1/node1").err
    assert gantt(*EVACUATE, "--parallel", "0").code == 2
    assert gantt(*EVACUATE, "--parallel", "101").code == 2
    assert fenced.conductor.evacuations == []
