# SPDX-License-Identifier: Apache-2.0
"""What filters and weighers say about each host: it agrees with the ranking."""

import pytest

from scheduler_svc.core import built_in
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filtering.survey import MAX_SAMPLES, REASON_ABSENT, survey_filters
from scheduler_svc.core.weighers import scoring
from tests.support.scheduler.hosts import node, request, table

MEMORY = [4096, 16384, 8192, 512]
NODES = {f"h{number}": node({"VCPU": 8, "MEMORY_MB": amount}) for number, amount in enumerate(MEMORY)}
DRIVER = FilterDriver(pipeline.build(built_in.FILTER_NAMES), scoring.build({"RAMWeigher": 1.0}))


@pytest.fixture
def view():
    with table(NODES, reads=DRIVER.reads).reading() as view:
        yield view


def test_ranks_are_those_of_the_drivers_candidates(view):
    call = request({"VCPU": 1, "MEMORY_MB": 1024})
    survey = DRIVER.survey(view, call)
    (candidates,) = DRIVER.rank(view, call, 1, 7).candidates
    verdicts = [survey.verdict(view.row(name)) for name in candidates]
    assert [(verdict.reason, verdict.rank, verdict.count) for verdict in verdicts] == [
        (None, rank, 3) for rank in (1, 2, 3)
    ]
    assert verdicts[0].score > verdicts[1].score > verdicts[2].score


def test_rejected_host_has_the_reason_that_is_counted(view):
    call = request({"VCPU": 1, "MEMORY_MB": 1024})
    survey = DRIVER.survey(view, call)
    assert {survey.verdict(view.row("h3")).reason} == DRIVER.rank(view, call, 1, 7).reasons.keys()


def test_hosts_with_equal_scores_share_a_rank():
    nodes = {name: node({"VCPU": 8, "MEMORY_MB": 4096}) for name in ("h1", "h2")}
    with table(nodes, reads=DRIVER.reads).reading() as view:
        survey = DRIVER.survey(view, request({"VCPU": 1}))
        assert [survey.verdict(view.row(name)).rank for name in nodes] == [1, 1]


def test_no_host_has_a_rank_if_all_are_rejected(view):
    survey = DRIVER.survey(view, request({"VCPU": 9}))
    assert {survey.verdict(row).reason for row in range(4)} == {"not enough VCPU"}


@pytest.mark.parametrize("row", [None, 4, 1000])
def test_row_that_is_no_host_is_absent(view, row):
    assert DRIVER.survey(view, request({"VCPU": 1})).verdict(row).reason == REASON_ABSENT


def test_sample_hosts_are_bounded_and_in_table_order():
    nodes = {f"h{number:03}": node({"VCPU": 1}) for number in range(50)}
    with table(nodes).reading() as view:
        samples = survey_filters(pipeline.build(["ResourcesFilter"]), view, request({"VCPU": 2})).samples(view)
    assert samples == {"not enough VCPU": [f"h{number:03}" for number in range(MAX_SAMPLES)]}


def test_sample_hosts_match_the_reason_counts():
    nodes = {f"h{number}": node({"VCPU": number + 1}, zone=f"z{number % 3}") for number in range(12)}
    filters = pipeline.build(built_in.FILTER_NAMES)
    call = request({"VCPU": 6}, availability_zone="z1", ignore_hosts=("h1", "h7"))
    with table(nodes, reads=FilterDriver(filters, scoring.build({})).reads).reading() as view:
        reasons = pipeline.run(filters, view, call).reasons
        samples = survey_filters(filters, view, call).samples(view)
    assert {reason: min(count, MAX_SAMPLES) for reason, count in reasons.items()} == {
        reason: len(names) for reason, names in samples.items()
    }
    every = [name for names in samples.values() for name in names]
    assert len(set(every)) == len(every), "a host falls to one reason"
