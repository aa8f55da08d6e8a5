# SPDX-License-Identifier: Apache-2.0
"""gantt-lab peers: what its rows say, with peers that are made of a few lines; and once with the real ones."""

import os
import sys
from pathlib import Path

import pytest

from devstack.lab.peers import environments
from devstack.lab.peers.environments import NOVA, PLACEMENT, PeerMissing
from devstack.lab.peers.field import PeerWorkload
from tests.unit.devstack.lab import asking

STANDING_IN = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    values = asked["values"]
    if asked["verb"] == "prepare":
        assert len(values["hosts"]) == 40 and values["requests"]
        told = {"filters": 5, "weighers": 13, "candidates": 40}
    else:
        told = [0.25] * values["count"]
    print(json.dumps({"answer": told}), flush=True)
"""


@pytest.fixture
def standing_in(tmp_path, monkeypatch):
    """Somebody who answers in the peers' place; those that are named are missing."""
    script = tmp_path / "peer.py"
    script.write_text(STANDING_IN)
    missing = set()

    def python(peer, cache):
        if peer in missing:
            raise PeerMissing(f"{peer.release} is not installed")
        return sys.executable

    monkeypatch.setattr(environments, "python", python)
    monkeypatch.setattr("devstack.lab.peers.side.INSIDE", tmp_path)
    for peer in (NOVA, PLACEMENT):
        (tmp_path / peer.script).write_text(STANDING_IN)
    return missing


def test_each_comparison_is_a_row_and_says_what_it_leaves_out(standing_in):
    rows = asking.run_json("peers", "--hosts", "40")
    assert [row["name"].partition(":")[0] for row in rows] == ["decide", "candidates", "claim"]
    for row in rows:
        assert row["hosts"] == 40
        assert row["theirs_p50_ms"] == 250
        assert row["ratio"] == pytest.approx(row["theirs_p50_ms"] / row["ours_p50_ms"])
        assert row["bound"] == "at least"
        assert row["budget"] is None, "promised is only what the design promises: at 1,000 and 10,000 hosts"
        assert "RPC" in row["left_out"]


def test_who_is_missing_is_said_and_the_other_is_measured(standing_in):
    standing_in.add(NOVA)
    code, out, err = asking.run("peers", "--hosts", "40")
    assert code == 0
    assert "nova 34.0.0 is not installed" in err
    assert "candidates: placement 16.0.0 / ours, 40 hosts" in out
    assert "decide" not in out
    standing_in.add(PLACEMENT)
    code, out, err = asking.run("peers", "--hosts", "40")
    assert code == 1
    assert "No peer could be measured" in err
    assert not out


def test_a_peer_that_fails_is_said(standing_in, tmp_path):
    (tmp_path / NOVA.script).write_text("raise SystemExit('it broke')")
    code, out, err = asking.run("peers", "--hosts", "40")
    assert code == 0
    assert "nova 34.0.0 cannot be measured: it ended: it broke" in err
    assert "claim" in out


def test_peers_are_told_of_the_very_hosts_and_requests_that_ours_has():
    field = PeerWorkload(40)
    told, nodes = field.told(), field.nodes
    assert len(told) == len(nodes) == 40
    for host, node in zip(told, nodes.values(), strict=True):
        inventories = node["inventories"]
        assert host["total"] == {name: unit["total"] for name, unit in inventories.items()}
        assert all(host["used"][name] <= unit["capacity"] for name, unit in inventories.items())
    assert any(host["roomy"] for host in told)
    assert any(not host["roomy"] for host in told)
    assert len(field.asked()) == 64


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_real_peers():
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gantt-lab" / "peers"
    try:
        for peer in (NOVA, PLACEMENT):
            environments.python(peer, cache)
    except PeerMissing as why:
        if os.environ.get("CI_PEERS") != "1":
            pytest.skip(f"{why}; CI_PEERS=1 installs them")
    rows = asking.run_json("peers", "--hosts", "200", "--install", "--cache", str(cache))
    assert len(rows) == 3
    assert all(row["ratio"] > 1 for row in rows)
    assert rows[0]["filters"] >= 5
    assert rows[1]["candidates"] > 0
