# SPDX-License-Identifier: Apache-2.0
"""Waiting for Nova's claims: bounded, patient, and not misled by those that were undone."""

import pytest

from rpcapi import errors
from scheduler_svc.nova.shadow.comparison import NamedRow, ShadowOutcome
from scheduler_svc.nova.shadow.decisions import ShadowDecision
from scheduler_svc.nova.shadow.observer import MAX_PENDING, NovaObserver
from scheduler_svc.nova.shadow.report import NovaShadowReport, Skipped
from scheduler_svc.shadow_report import MAX_WARNINGS
from tests.support.scheduler.workers import metric_value

PATIENCE = 10.0


class Allocated:
    """Hosts by consumer; a host's name in the table is its service host too."""

    def __init__(self):
        self.hosts = {}
        self.failure = None

    def read(self, consumers):
        if self.failure:
            raise self.failure
        return {consumer: self.hosts[consumer] for consumer in consumers if consumer in self.hosts}

    def on_service_hosts(self, names, service_hosts):
        return set(names) & set(service_hosts)

    def named_row(self, name):
        return NamedRow(None, name)


class Watched:
    def __init__(self):
        self.now = 0.0
        self.allocated = Allocated()
        self.records = []
        self.report = NovaShadowReport(self)
        self.observer = NovaObserver(self.allocated, self.report, PATIENCE, lambda: self.now)

    def record_decision(self, request_id, document):
        self.records.append((request_id, document["nova"]))

    def expect(self, *consumers, ignored=(), request_id="req-1"):
        hosts = ["h1"] * len(consumers)
        self.observer.expect(ShadowDecision(request_id, consumers, hosts, "", frozenset(ignored), None, {}))

    def outcomes(self):
        self.observer.compare_pending()
        return [instance["outcome"] for _, nova in self.records for instance in nova["instances"]]


@pytest.fixture
def watched():
    return Watched()


def test_decision_is_compared_when_the_last_instance_has_a_host(watched):
    watched.expect("c1", "c2")
    watched.allocated.hosts["c1"] = ["h1"]
    assert watched.outcomes() == []
    watched.allocated.hosts["c2"] = ["h1"]
    assert watched.outcomes() == [ShadowOutcome.SAME, ShadowOutcome.SAME]
    assert watched.outcomes() == [ShadowOutcome.SAME, ShadowOutcome.SAME], "it is compared once"


def test_first_host_counts_though_the_instance_moved_on(watched):
    """A conductor that claims an alternate after a failed build does not change what the scheduler chose."""
    watched.expect("c1", "c2")
    watched.allocated.hosts["c1"] = ["h1"]
    watched.outcomes()
    watched.allocated.hosts |= {"c1": ["h9"], "c2": ["h1"]}
    assert watched.outcomes() == [ShadowOutcome.SAME, ShadowOutcome.SAME]


def test_claims_without_those_of_the_other_instances_are_a_refusal(watched):
    watched.expect("c1", "c2")
    watched.allocated.hosts["c1"] = ["h1"]
    watched.outcomes()
    watched.allocated.hosts.clear()
    watched.now = PATIENCE - 1
    assert watched.outcomes() == []
    watched.now = PATIENCE
    assert watched.outcomes() == [ShadowOutcome.REFUSED_BY_NOVA] * 2


def test_store_that_is_away_delays_the_comparison(watched):
    watched.expect("c1")
    watched.allocated.failure = errors.StoreUnavailable(why="down")
    watched.now = PATIENCE + 1
    with pytest.raises(errors.StoreUnavailable):
        watched.observer.compare_pending()
    watched.allocated.failure = None
    watched.allocated.hosts["c1"] = ["h1"]
    assert watched.outcomes() == [ShadowOutcome.SAME]


def test_instance_that_holds_a_host_already_is_late_unless_the_request_excludes_it(watched):
    before = metric_value("nova_shadow_skipped_total", reason="late")
    watched.allocated.hosts |= {"c1": ["h1"], "c2": ["h2"]}
    watched.expect("c1")
    assert metric_value("nova_shadow_skipped_total", reason="late") == before + 1
    watched.expect("c2", ignored=["h2"])
    assert watched.outcomes() == []
    watched.allocated.hosts["c2"] = ["h2", "h1"]
    assert watched.outcomes() == [ShadowOutcome.SAME]


def test_pending_decisions_are_bounded_and_counted_at_the_end(watched):
    before = metric_value("nova_shadow_skipped_total", reason="stopped")
    for number in range(MAX_PENDING):
        assert watched.observer.has_room
        watched.expect(f"c{number}")
    assert not watched.observer.has_room
    watched.observer.stop()
    assert watched.observer.has_room
    assert metric_value("nova_shadow_skipped_total", reason="stopped") == before + MAX_PENDING


def test_record_says_how_many_requests_were_pending(watched):
    watched.expect("c1")
    watched.expect("c2", request_id="req-2")
    watched.now = PATIENCE
    watched.outcomes()
    assert [(request_id, nova["pending"]) for request_id, nova in watched.records] == [("req-1", 0), ("req-2", 1)]


def test_lines_in_the_log_are_bounded_until_the_summary(watched, caplog):
    caplog.set_level("INFO")
    consumers = [f"c{number}" for number in range(MAX_WARNINGS + 5)]
    watched.expect(*consumers)
    watched.now = PATIENCE
    watched.outcomes()
    assert len(caplog.records) == MAX_WARNINGS
    watched.report.skip(Skipped.LATE)
    watched.report.summarize()
    assert caplog.records[-1].getMessage() == (
        "Since the last summary: refused by Nova only: 105; not compared, late: 1; 5 more warnings were not logged"
    )
    watched.expect("c", request_id="req-2")
    watched.now += PATIENCE
    watched.outcomes()
    assert len(caplog.records) == MAX_WARNINGS + 2


def test_record_that_cannot_be_stored_is_logged(watched, caplog, monkeypatch):
    def refuse(request_id, document):
        raise errors.StoreUnavailable(why="down")

    monkeypatch.setattr(watched, "record_decision", refuse)
    watched.expect("c1")
    watched.allocated.hosts["c1"] = ["h1"]
    watched.outcomes()
    assert "Cannot record the comparison of request req-1" in caplog.text
