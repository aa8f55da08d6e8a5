# SPDX-License-Identifier: Apache-2.0
"""lab.sh claim: the bare script does what the claim script does, and both claim. Times are not tested."""

import pytest

from devstack.lab.claim import calls, command
from devstack.lab.claim import calls as claim_calls
from devstack.lab.claim import command as claim
from devstack.lab.claim.calls import BARE, CLAIM, ClaimCalls
from rpcapi.cli.command import CommandFailed
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.support import asking


def commands(server, calls, script_name):
    """Return the Redis commands of one script call, with the suffixes of their keys."""
    call_arguments = calls.prepare_calls(script_name, 1, 0)[0]
    with server.client() as watching, watching.monitor() as monitor:
        answer = calls.client.evalsha(*call_arguments)
        assert answer[0] == 1, answer
        calls.client.echo("enough")
        executed = []
        while True:
            command = monitor.next_command()
            name, *arguments = command["command"].split()
            if name == "ECHO":
                return executed
            if command["client_type"] == "lua":
                key = arguments[0].strip('"').removeprefix(prefix(script_name)) if arguments else ""
                executed.append((name.upper(), key))


@pytest.mark.parametrize("candidates", [1, 4, 16])
def test_bare_script_reads_and_writes_like_the_claim_script(make_redis, candidates):
    # Given both scripts with prepared calls on equal partitions
    server = make_redis()
    claim_calls.prepare_partitions(server.url())
    with server.client() as client:
        calls = ClaimCalls(client, server.url(), candidates)
        # When each makes one claim with the same number of candidates
        claim_commands, bare_commands = (commands(server, calls, script_name) for script_name in (CLAIM, BARE))
    # Then both sent the same commands, with one capacity lookup per candidate
    assert sorted(claim_commands) == sorted(bare_commands)
    assert claim_commands.count(("HGET", "capacity")) == candidates


def test_json_rows_and_plot(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(claim, "MODES", ("always",))
    monkeypatch.setattr(claim, "CANDIDATES", (1, 4))
    monkeypatch.setattr(claim, "BLOCKS", 2)
    monkeypatch.setattr(command, "STALL_REQUESTS", 1)
    picture = tmp_path / "claim.png"
    *rows, stall = asking.run_json("claim", "--calls", "3", "--plot", str(picture))
    assert [(row["name"], row["fsync"], row["candidates"]) for row in rows] == [
        (f"{what} of claims, fsync always, candidates {candidates}", "always", candidates)
        for candidates in (1, 4)
        for what in ("latency", "rate")
    ]
    assert all(row["budget"] == 2 and row["server_us"] > 0 and row["calls_per_s"] > 0 for row in rows)
    assert (stall["instances"], stall["budget"]) == (1000, 1)
    assert stall["name"] == "stall of the largest request, fsync always"
    assert stall["p99_ms"] >= stall["p50_ms"] > 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_measured_calls_make_consistent_claims(make_redis):
    # Given a server on which single and pipelined calls were made
    server = make_redis()
    claim_calls.prepare_partitions(server.url())
    with server.client() as client:
        calls = ClaimCalls(client, server.url(), 4)
        arguments = calls.prepare_calls(CLAIM, 8, 0)
        answers = [client.evalsha(*arguments[0]), *claim_calls.send(client, arguments[1:])]
    # Then every call claimed on its last candidate, and the store's sums are consistent
    assert [answer[9] for answer in answers] == ["FULL FULL FULL FITS"] * 8
    store = RedisStore(server.url(), CLAIM)
    verification = store.verify()
    store.close()
    assert (verification.claims["prepared"], list(verification.problems), list(verification.excess)) == (8, [], [])


def test_call_without_a_claim_is_an_error(monkeypatch):
    # Given claims that fit on no host
    monkeypatch.setattr(claim, "MODES", ("no",))
    monkeypatch.setattr(claim, "CANDIDATES", (1,))
    monkeypatch.setattr(claim_calls, "RESOURCES", {"VCPU": 1000, "MEMORY_MB": 1024, "DISK_GB": 1})
    # When they are measured
    code, out, err = asking.run("claim", "--calls", "1")
    # Then the lab reports an error instead of a rate of refusals
    assert code == 1
    assert not out
    assert "claimed nothing" in err


@pytest.fixture
def server(make_redis):
    server = make_redis()
    calls.prepare_partitions(server.url())
    return server


def test_each_request_is_claimed_and_ended_again(server, monkeypatch):
    monkeypatch.setattr(command, "STALL_REQUESTS", 2)
    with server.client() as client:
        row = command.measure_stall("no", server.url(), client)
    assert row.ratio == row.figures["p99_ms"] / 150
    assert row.ok == (row.figures["p99_ms"] <= 150)
    store = RedisStore(server.url(), CLAIM)
    assert (dict(store.counts()), list(store.verify().problems)) == ({"prepared": 0, "confirmed": 0}, [])
    store.close()


def test_refused_request_is_an_error(server, monkeypatch):
    monkeypatch.setattr(command, "RESOURCES", {"VCPU": 1000, "MEMORY_MB": 1024, "DISK_GB": 1})
    with server.client() as client, pytest.raises(CommandFailed, match="refused"):
        command.measure_stall("no", server.url(), client)
