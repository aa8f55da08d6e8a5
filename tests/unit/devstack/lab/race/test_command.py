# SPDX-License-Identifier: Apache-2.0
"""lab.sh race: no overcommit, every request is counted, and the definition of regret."""

import contextlib

import pytest

from devstack.lab import default_driver, hosts
from devstack.lab.race import command, regret, worker
from rpcapi import context, errors
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.memory import MemoryStore
from tests.support import asking
from tests.support.scheduler.replica_views import FollowingReplicaView

HOSTS, FILL = 12, 0.95


@pytest.fixture(scope="module")
def rows():
    """The rows of one small race."""
    return {
        row["name"]: row
        for row in asking.run_json(
            "race", "--workers", "2", "--hosts", str(HOSTS), "--fill", str(FILL), "--subset", "2"
        )
    }


def test_no_overcommit_and_every_request_is_counted(rows):
    requested = len(command.fill(hosts.make_nodes(HOSTS), FILL))
    assert rows["overcommit"]["ratio"] == 0
    assert rows["overcommit"]["alone_overcommit"] == 0
    assert (
        rows["overcommit"]["claims"] + rows["servers refused beyond those of a single worker"]["refused"] == requested
    )
    assert rows["overcommit"]["claims"] == rows["candidates lost, of those tried"]["FITS"]


def test_shares_and_lists_are_bounded(rows):
    assert 0 < rows["first choice won"]["ratio"] <= 1
    assert rows["first choice won"]["won"] <= rows["first choice won"]["decisions"]
    assert 1 <= rows["candidates a script, most"]["ratio"] <= 16
    assert 0 < rows["score regret"]["ratio"] < 1
    assert rows["score regret"]["entries_behind_mean"] >= 0


def test_single_worker_always_wins_without_regret(rows):
    assert rows["first choice won"]["alone_share"] == 1
    assert rows["candidates a script, most"]["alone_most"] == 1
    assert rows["score regret"]["alone_regret"] == 0


def test_worker_that_cannot_start_is_reported(run_folder):
    with pytest.raises(errors.StoreUnavailable):
        worker.run(f"unix://{run_folder}/nobody.sock?db=0", "race", [], workers=2)


def test_share_of_less_than_one_server_is_refused():
    code, _, err = asking.run("race", "--hosts", "1", "--fill", "0.001")
    assert code == 1
    assert "ask for more" in err


def test_requests_fill_the_scarcest_class_and_no_more():
    nodes = hosts.make_nodes(40)
    capacity, requested = {}, {}
    for node in nodes.values():
        for name, unit in node["inventories"].items():
            capacity[name] = capacity.get(name, 0) + unit["capacity"]
    for server in command.fill(nodes, 0.9):
        for name, amount in server.request.resources.items():
            requested[name] = requested.get(name, 0) + amount
    shares = [requested[name] / capacity[name] for name in capacity]
    assert max(shares) <= 0.9
    # One more request would exceed the share: the largest is a small part of 40 hosts.
    assert max(shares) > 0.88


@pytest.fixture
def store():
    """An empty partition of twenty hosts in memory."""
    with contextlib.closing(MemoryStore("lab", log_length=10_000, decision_bytes=1 << 20)) as memory_store:
        hosts.join(memory_store, hosts.make_nodes(20))
        yield memory_store


def test_claims_of_a_single_scheduler_have_no_regret(store):
    # Given a single scheduler that placed some servers
    before = store.snapshot()
    sight = FollowingReplicaView(store, default_driver.default().reads)
    scheduler = PartitionScheduler(worker.CountingStore(store, worker.RaceTally()), sight, SchedulingLimits())
    policy = SchedulingPolicy(default_driver.default())
    for server, _ in zip(hosts.stream(1), range(40), strict=False):
        scheduler.select(policy, SelectionCall(context.new("lab", "lab"), server.request, [server.consumer]))
    # When its claims are judged
    memory_store = list(regret.judged_claims(before, regret.entries(store, before.position), 1))
    # Then each was the best host, by the score that the driver recorded
    recorded = [
        store.find_decision(server.request.id)["best"][0]["score"]
        for server, _ in zip(hosts.stream(1), range(40), strict=False)
    ]
    assert [claim.best_score for claim in memory_store] == pytest.approx(recorded, abs=1e-6)
    assert regret.regret(memory_store) == 0


def test_claim_on_a_worse_host_has_regret(store):
    # Given a claim on the host with the lowest score
    before = store.snapshot()
    server = next(hosts.stream(1))
    with FollowingReplicaView(store, default_driver.default().reads).table.reading() as view:
        values = regret.scoring.score(default_driver.weighted(), view, server.request, None).values
        worst = view.name(int(values.argmin()))
    intent = Intent(server.consumer, 1, [Candidate(worst)])
    batch = ClaimBatch("r", "p", "u", server.request.resources, [intent], before.epoch, before.position, 60_000)
    assert store.prepare(batch).accepted
    # When it is judged, then the missed share is returned
    (claim,) = regret.judged_claims(before, regret.entries(store, before.position), 1)
    assert (claim.score, claim.best_score) == pytest.approx((values.min(), values.max()))
    assert regret.regret([claim]) == pytest.approx(1 - values.min() / values.max())
