# SPDX-License-Identifier: Apache-2.0
"""``gantt host evacuate``: bounded, continued when it is repeated, and what could not move is named."""

import pytest

from rpcapi import errors
from rpcapi.clients.conductor import ConductorAPI
from tests.unit.rpcapi.cli.fakes import migration
from tests.unit.rpcapi.cli.test_server import add_instances

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


def test_what_could_not_move_is_named_with_its_reason(fenced, gantt):
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
