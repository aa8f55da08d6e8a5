# SPDX-License-Identifier: Apache-2.0
"""gantt-lab claim: that the floor does what the claim script does, and that both claim. How fast, no test says."""

import pytest

from devstack.lab import claim, claim_calls
from devstack.lab.claim_calls import BARE, CLAIM, ClaimCalls
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.unit.devstack.lab import asking


def commands(server, calls, which):
    """Return what one call of a script asks of Redis: commands with the words of their keys."""
    made = calls.ready(which, 1, 0)[0]
    with server.client() as watching, watching.monitor() as monitor:
        answer = calls.client.evalsha(*made)
        assert answer[0] == 1, answer
        calls.client.echo("enough")
        seen = []
        while True:
            told = monitor.next_command()
            name, *arguments = told["command"].split()
            if name == "ECHO":
                return seen
            if told["client_type"] == "lua":
                key = arguments[0].strip('"').removeprefix(prefix(which)) if arguments else ""
                seen.append((name.upper(), key))


@pytest.mark.parametrize("candidates", [1, 4, 16])
def test_the_floor_reads_and_writes_what_the_claim_script_does(make_redis, candidates):
    # Given both scripts, ready to claim on alike partitions
    server = make_redis()
    claim_calls.prepare_partitions(server.url())
    with server.client() as client:
        calls = ClaimCalls(client, server.url(), candidates)
        # When each makes one claim, tried on as many candidates
        mine, bare = (commands(server, calls, which) for which in (CLAIM, BARE))
    # Then they asked Redis for the same; the claim's own number of looks grows with its candidates
    assert sorted(mine) == sorted(bare)
    assert mine.count(("HGET", "capacity")) == candidates


def test_answers_in_the_programs_form(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(claim, "MODES", ("always",))
    monkeypatch.setattr(claim, "CANDIDATES", (1, 4))
    monkeypatch.setattr(claim, "BLOCKS", 2)
    picture = tmp_path / "claim.png"
    rows = asking.run_json("claim", "--calls", "3", "--plot", str(picture))
    assert [(row["name"], row["fsync"], row["candidates"]) for row in rows] == [
        (f"claim {what}", "always", candidates) for candidates in (1, 4) for what in ("latency", "rate")
    ]
    assert all(row["budget"] == 2 and row["server_us"] > 0 and row["calls_per_s"] > 0 for row in rows)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_was_measured_are_sound_claims(make_redis):
    # Given a server on which single and bunched calls were measured
    server = make_redis()
    claim_calls.prepare_partitions(server.url())
    with server.client() as client:
        calls = ClaimCalls(client, server.url(), 4)
        made = calls.ready(CLAIM, 8, 0)
        answers = [client.evalsha(*made[0]), *claim_calls.send(client, made[1:])]
    # Then every call claimed on its last candidate, and the store's sums are right
    assert [answer[9] for answer in answers] == ["FULL FULL FULL FITS"] * 8
    store = RedisStore(server.url(), CLAIM)
    found = store.verify()
    store.close()
    assert (found.claims["prepared"], list(found.problems), list(found.excess)) == (8, [], [])


def test_a_call_that_claims_nothing_is_no_figure(monkeypatch):
    # Given claims that no host has room for
    monkeypatch.setattr(claim, "MODES", ("no",))
    monkeypatch.setattr(claim, "CANDIDATES", (1,))
    monkeypatch.setattr(claim_calls, "RESOURCES", {"VCPU": 1000, "MEMORY_MB": 1024, "DISK_GB": 1})
    # When they are to be measured
    code, out, err = asking.run("claim", "--calls", "1")
    # Then the lab says so, in place of a rate of refusals
    assert code == 1
    assert not out
    assert "claimed nothing" in err
