# SPDX-License-Identifier: Apache-2.0
"""Faults of lab.sh moves, the scheduler's counts, and the options of its cluster."""

from types import SimpleNamespace

import pytest

from devstack.lab.chaos.final_state import GuestFile
from devstack.lab.moves import scenario
from devstack.lab.moves.scenario import MovedHosts, count_work
from devstack.lab.timing import record_span, record_times

PAGE = """\
# HELP gantt_scheduler_claims_total Answers to claim verbs
# TYPE gantt_scheduler_claims_total counter
gantt_scheduler_claims_total{answer="confirmed",verb="confirm"} 50.0
gantt_scheduler_claims_total{answer="confirmed",verb="begin_move"} 4.0
gantt_scheduler_expired_claims_total 9.0
gantt_scheduler_instances_placed_total 54.0
gantt_scheduler_decision_seconds_bucket{le="0.1"} 3.0
gantt_scheduler_decision_seconds_count 3.0
gantt_scheduler_decision_seconds_sum 0.5
gantt_scheduler_batched_requests_total 2.0
gantt_position{partition="default"} NaN
"""


def record(uuid, host):
    return SimpleNamespace(uuid=uuid, host=host)


def guest(uuid, host, **power):
    return GuestFile(host, uuid, 1, f"{host}/node0", **power)


def test_servers_on_other_hosts_than_those_that_take_them_are_named():
    records = [record("a", "h1/node0"), record("b", "lost/node0"), record("c", None)]
    assert list(scenario.misplaced(records, ["h1", "h2"])) == ["b is on lost/node0", "c is on None"]


@pytest.mark.parametrize(
    ("guests", "faulty"),
    [
        ([guest("a", "h1")], []),
        ([], ["a"]),
        ([guest("a", "h2")], ["a"]),
        ([guest("a", "h1"), guest("a", "lost")], ["a"]),  # a second copy
        ([guest("a", "h1", is_off=True)], ["a"]),
        ([guest("a", "h1", is_paused=True)], ["a"]),
        ([guest("a", "h1"), guest("m", "drained")], ["m"]),  # what a migration left at its source
    ],
)
def test_each_server_runs_once_where_its_record_says(guests, faulty):
    sentences = scenario.guest_faults([record("a", "h1/node0")], guests)
    assert [sentence.split(" ")[0] for sentence in sentences] == faulty


def test_cluster_has_the_copy_that_the_floor_is_computed_of():
    options = scenario.overrides(MovedHosts(2), 1)
    simulator = options["compute"]["simulator"]
    assert (simulator["copy_rate"], simulator["dirty_rate"], simulator["copy_downtime"]) == (1000, 100, 0.5)
    assert simulator["shared_storage"], "else disks are copied as well"
    # The first agent has no host that is lost
    assert options["compute"]["compute"]["hosts"] == "compute0,compute1,compute2"


def test_times_are_those_of_the_records():
    records = [SimpleNamespace(created_ms=1000, updated_ms=3500), SimpleNamespace(created_ms=2000, updated_ms=3000)]
    assert list(record_times(records).seconds) == [2.5, 1.0]
    assert record_span(records) == 2.5


def test_counts_are_summed_over_labels_and_other_metrics_are_ignored():
    assert count_work(PAGE) == {"decisions": 5, "claims": 54, "claim_verbs": 54}


def test_scheduler_without_these_metrics_counts_nothing():
    assert count_work("") == {"decisions": 0, "claims": 0, "claim_verbs": 0}


def test_work_since_an_earlier_reading_is_the_difference(monkeypatch):
    monkeypatch.setattr(scenario, "scrape", lambda port: PAGE.encode())
    run = scenario.MovesRun(None, MovedHosts(2), None, 1)
    assert run._work_since({"decisions": 3, "claims": 50, "claim_verbs": 54}) == {
        "decisions": 2,
        "claims": 4,
        "claim_verbs": 0,
    }
