# SPDX-License-Identifier: Apache-2.0
"""Regret of claims."""

from types import SimpleNamespace

import pytest

from devstack.lab import default_driver, hosts
from devstack.lab.race import regret
from devstack.lab.race.regret import JudgedClaim
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import node

NODES = {f"h{number}/n": node({"VCPU": 4, "MEMORY_MB": 8192}) for number in range(2)}


@pytest.mark.parametrize(
    ("claims", "share"),
    [([], 0.0), ([(0.0, 0.0)], 0.0), ([(2.0, 2.0)], 0.0), ([(1.0, 2.0), (2.0, 2.0)], 0.25), ([(0.0, 3.0)], 1.0)],
)
def test_regret_is_the_missed_share_of_the_best_scores(claims, share):
    assert regret.regret(JudgedClaim(*claim) for claim in claims) == pytest.approx(share)


def test_claim_conflicts_on_change_in_the_state_before_it():
    snapshot = hosts.snapshot(NODES, {"h0/n": {"VCPU": 3}, "h1/n": {}})
    table = HostTable.from_snapshot(snapshot, reads=default_driver.default().reads)
    parts = default_driver.filters(), default_driver.weighted()
    worse = regret.judge(table, *parts, "h0/n", {"VCPU": 1})
    better = regret.judge(table, *parts, "h1/n", {"VCPU": 1})
    assert worse.score < worse.best_score == better.score == better.best_score
    with pytest.raises(LookupError, match="h0/n, which did not have enough"):
        regret.judge(table, *parts, "h0/n", {"VCPU": 2})


def test_log_is_read_to_its_end_in_batches():
    log = {0: [SimpleNamespace(position=2), SimpleNamespace(position=5)], 5: [SimpleNamespace(position=6)], 6: []}
    store = SimpleNamespace(partition="p", follow=lambda position, wait: log[position])
    assert [entry.position for entry in regret.entries(store, 0)] == [2, 5, 6]


def test_trimmed_log_is_reported():
    store = SimpleNamespace(partition="p", follow=lambda position, wait: None)
    with pytest.raises(LookupError, match="log of p does not reach back to position 3"):
        list(regret.entries(store, 3))


def test_entry_that_is_no_single_claim_is_reported():
    snapshot = hosts.snapshot(NODES, {name: {} for name in NODES})
    entry = LogEntry(2, "used", {"h0/n": {"VCPU": 1}, "h1/n": {"VCPU": 1}})
    with pytest.raises(LookupError, match="no single claim"):
        list(regret.judged_claims(snapshot, [entry], 1))
