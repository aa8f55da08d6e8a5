# SPDX-License-Identifier: Apache-2.0
"""lab.sh peers: its rows with fake peers, and once with the real peers."""

import os
import sys

import pytest

from devstack import peer_environments
from devstack.lab import hosts
from devstack.lab.decide import MIX
from devstack.lab.peers.command import LIMIT, MAX_LOAD, REQUIRED_FREE, PeerWorkload, candidates_subject
from devstack.peer_environments import PeerMissing
from tests.support import asking

FAKE_PEER = """
import json, os
from multiprocessing.connection import Connection
pipe = Connection(int(os.environ["GANTT_LAB_PIPE"]))
while True:
    request = json.loads(pipe.recv_bytes())
    values = request["values"]
    if request["verb"] == "prepare":
        assert len(values.get("hosts") or values["providers"]) == 40 and values["requests"]
        reply = {"filters": 5, "weighers": 13} if "hosts" in values else 40
    else:
        reply = [0.25] * values["count"]
    pipe.send_bytes(json.dumps({"answer": reply}).encode())
"""


SCRIPTS = ("nova_side.py", "placement_side.py")


@pytest.fixture
def stub_peers(tmp_path, monkeypatch):
    """Replaces the peers by a fake; returns the folder of their scripts."""
    monkeypatch.setattr(peer_environments, "python", lambda: sys.executable)
    monkeypatch.setattr("devstack.lab.peers.side.INSIDE", tmp_path)
    for script in SCRIPTS:
        (tmp_path / script).write_text(FAKE_PEER)
    return tmp_path


def test_each_comparison_is_a_row_that_names_what_it_leaves_out(stub_peers):
    rows = asking.run_json("peers", "--hosts", "40")
    assert [row["name"].partition(":")[0] for row in rows] == ["decide", "candidates", "claim"]
    for row in rows:
        assert row["hosts"] == 40
        assert row["theirs_p50_ms"] == 250
        assert row["ratio"] == pytest.approx(row["theirs_p50_ms"] / row["ours_p50_ms"])
        assert row["bound"] == "at least"
        assert row["budget"] is None, "there are budgets at 1,000 and 10,000 hosts only"
        assert "RPC" in row["left_out"]


def test_missing_peers_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, out, err = asking.run("peers", "--hosts", "40")
    assert (code, out) == (1, "")
    assert "`./devstack/nova.sh --install` installs it" in err


def test_failing_peer_is_reported_and_the_other_is_measured(stub_peers):
    (stub_peers / SCRIPTS[0]).write_text("raise SystemExit('it broke')")
    code, out, err = asking.run("peers", "--hosts", "40")
    assert code == 0
    assert "nova 34.0.0 cannot be measured: the process ended: it broke" in err
    assert "candidates: placement 16.0.0 / ours, 40 hosts" in out
    assert "decide" not in out
    (stub_peers / SCRIPTS[1]).write_text("raise SystemExit('it broke too')")
    code, out, err = asking.run("peers", "--hosts", "40")
    assert (code, out) == (1, "")
    assert "No peer could be measured" in err


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_real_peers():
    try:
        peer_environments.python()
    except PeerMissing as why:
        if os.environ.get("CI_PEERS") != "1":
            pytest.skip(f"{why}; CI_PEERS=1 installs them")
    rows = asking.run_json("peers", "--hosts", "200", "--install")
    assert len(rows) == 3
    assert all(row["ratio"] > 1 for row in rows)
    assert rows[0]["filters"] >= 5
    assert rows[1]["candidates"] > 0


def test_peers_get_the_same_hosts_with_usage_below_the_load():
    workload = PeerWorkload(60)
    nodes, nova_hosts, providers = workload.nodes, workload.nova_hosts(), workload.providers()
    assert [host["name"] for host in nova_hosts] == [name.replace("/", "-") for name in nodes]
    claimable = []
    for host, provider, node in zip(nova_hosts, providers, nodes.values(), strict=True):
        capacities = {name: unit["capacity"] for name, unit in node["inventories"].items()}
        assert all(host["used"][name] <= MAX_LOAD * capacities[name] for name in capacities)
        assert host["total"] == {name: unit["total"] for name, unit in node["inventories"].items()}
        assert (provider["root"], provider["parent"], provider["used"]) == (provider["uuid"], None, host["used"])
        assert provider["inventories"]["VCPU"]["allocation_ratio"] == host["cpu_ratio"]
        assert provider["inventories"]["MEMORY_MB"]["reserved"] == node["inventories"]["MEMORY_MB"]["reserved"] > 0
        free = {name: capacities[name] - host["used"][name] for name in capacities}
        if all(free[name] >= amount for name, amount in REQUIRED_FREE.items()):
            claimable.append(provider["uuid"])
    assert 0 < len(claimable) < len(providers)
    assert workload.claimable() == claimable
    assert (workload.nova_hosts(), workload.providers()) == (nova_hosts, providers)


def test_requests_are_repeatable():
    assert PeerWorkload.peer_requests() == PeerWorkload.peer_requests()
    assert len(PeerWorkload.peer_requests()) == MIX


def test_candidates_are_hosts_with_free_capacity_up_to_the_limit():
    empty = candidates_subject(hosts.table(LIMIT + 50, max_load=0.0))(0)
    assert len(empty) == len(set(empty)) == LIMIT
    full_table = hosts.table(60, max_load=0.0)
    for row in range(60):
        full_table.services.enabled[row] = False
    assert candidates_subject(full_table)(0) == []
