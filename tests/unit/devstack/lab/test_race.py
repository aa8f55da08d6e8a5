# SPDX-License-Identifier: Apache-2.0
"""gantt-lab race: that nothing is sold twice, that all that was asked is accounted for, and what regret means."""

import contextlib
import io

import pytest
from tqdm import tqdm

from devstack.lab import driver, hosts, race, racer, regret, requests
from rpcapi import context, errors
from scheduler_svc.deciding.select import RetryLimits, SelectionCall, Selector
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import Candidate, ClaimBatch, Intent
from tests.unit.devstack.lab import asking
from tests.unit.scheduler_svc.sights import FollowingReplicaView

HOSTS, FILL = 12, 0.95


@pytest.fixture(scope="module")
def rows():
    """The answer to one small race."""
    return {
        row["name"]: row
        for row in asking.run_json(
            "race", "--workers", "2", "--hosts", str(HOSTS), "--fill", str(FILL), "--subset", "2"
        )
    }


def test_nothing_is_overcommitted_and_every_request_is_accounted_for(rows):
    asked = len(race.fill(hosts.make_nodes(HOSTS), FILL))
    assert rows["overcommit"]["ratio"] == 0
    assert rows["overcommit"]["alone_overcommit"] == 0
    assert rows["overcommit"]["claims"] + rows["placements a second"]["refused"] == asked
    assert rows["overcommit"]["claims"] == rows["candidates lost, of those tried"]["FITS"]


def test_shares_are_shares_and_lists_are_bounded(rows):
    assert 0 < rows["first choice won"]["ratio"] <= 1
    assert rows["first choice won"]["won"] <= rows["first choice won"]["decisions"]
    assert 1 <= rows["candidates a script, most"]["ratio"] <= 16
    assert 0 < rows["score regret"]["ratio"] < 1
    assert rows["score regret"]["entries_behind_mean"] >= 0


def test_one_worker_alone_always_wins_and_regrets_nothing(rows):
    assert rows["first choice won"]["alone_share"] == 1
    assert rows["candidates a script, most"]["alone_most"] == 1
    assert rows["score regret"]["alone_regret"] == 0


def test_a_worker_that_cannot_start_is_told_of(run_folder):
    with pytest.raises(errors.StoreUnavailable), tqdm(file=io.StringIO()) as bar:
        racer.run(racer.RaceSettings(f"unix://{run_folder}/nobody.sock?db=0", 2), "race", [], bar)


@pytest.mark.parametrize("given", ["0", "1.5", "-1", "all"])
def test_refuses_impossible_shares(given, capsys):
    with pytest.raises(SystemExit):
        asking.run("race", f"--fill={given}")
    assert "is not a share above 0" in capsys.readouterr().err


def test_refuses_to_fill_with_nothing():
    code, _, err = asking.run("race", "--hosts", "1", "--fill", "0.001")
    assert code == 1
    assert "ask for more" in err


def test_the_requests_fill_the_scarcest_class_and_no_more():
    nodes = hosts.make_nodes(40)
    held, asked = {}, {}
    for told in nodes.values():
        for name, unit in told["inventories"].items():
            held[name] = held.get(name, 0) + unit["capacity"]
    for one in race.fill(nodes, 0.9):
        for name, amount in one.request.resources.items():
            asked[name] = asked.get(name, 0) + amount
    shares = [asked[name] / held[name] for name in held]
    assert max(shares) <= 0.9
    # One request more would be too much: the largest is a small part of 40 hosts.
    assert max(shares) > 0.88


@pytest.fixture
def store():
    """An empty partition of twenty hosts in memory."""
    with contextlib.closing(MemoryStore("lab", log_length=10_000, decisions=100)) as made:
        hosts.join(made, hosts.make_nodes(20))
        yield made


def test_the_best_host_is_the_one_that_the_driver_takes(store):
    # Given a lone selector that placed some servers
    before = store.snapshot()
    sight = FollowingReplicaView(store, driver.default().reads)
    selector = Selector(racer.CountingClaimer(store, racer.RaceTally()), sight, driver.default(), RetryLimits())
    for one, _ in zip(requests.stream(1), range(40), strict=False):
        selector.select(context.new("lab", "lab"), SelectionCall(one.request, [one.consumer]))
    # When its claims are gone through again
    made = list(regret.judged_claims(before, regret.entries(store, before.position), 1))
    # Then each was the best there was, by the score that the driver itself had recorded
    recorded = [
        store.find_decision(one.request.id)["best"][0]["score"]
        for one, _ in zip(requests.stream(1), range(40), strict=False)
    ]
    assert [choice.best for choice in made] == pytest.approx(recorded, abs=1e-6)
    assert regret.regret(made) == 0


def test_a_worse_host_is_regretted(store):
    # Given a claim on the host that the driver likes least
    before = store.snapshot()
    wanted = next(requests.stream(1))
    with FollowingReplicaView(store, driver.default().reads).table.reading() as view:
        values = regret.scoring.score(driver.weighted(), view, wanted.request, None).values
        least = view.name(int(values.argmin()))
    intent = Intent(wanted.consumer, 1, [Candidate(least)])
    batch = ClaimBatch("r", "p", "u", wanted.request.resources, [intent], before.epoch, before.position, 60_000)
    assert store.prepare(batch).accepted
    # When it is judged, then the share that was missed is told
    (choice,) = regret.judged_claims(before, regret.entries(store, before.position), 1)
    assert (choice.chosen, choice.best) == pytest.approx((values.min(), values.max()))
    assert regret.regret([choice]) == pytest.approx(1 - values.min() / values.max())


def test_a_log_that_does_not_know_the_position_is_no_history(store):
    with pytest.raises(LookupError, match="does not reach back"):
        list(regret.entries(store, store.snapshot().position + 5))
