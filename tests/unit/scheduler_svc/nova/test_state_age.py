# SPDX-License-Identifier: Apache-2.0
"""Requests while Nova's databases are not read."""

import dataclasses

import pytest

from rpcapi import context, errors
from rpcapi.resources import transient
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.nova import service_filter
from scheduler_svc.nova.bus.exceptions import nova_error
from scheduler_svc.nova.state_age import NovaStateAge
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.intake import RequestIntake, RequestRewriter
from scheduler_svc.scheduling.ranking import CurrentPolicy, SchedulingPolicy
from scheduler_svc.store.memory import MemoryStore
from tests.support.nova.nova import compute_node
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request, snapshot
from tests.support.scheduler.replica_views import filter_driver
from tests.support.scheduler.workers import FakeTransportWorker, node_report

START_MS = 1_700_000_000_000
LIMITS = {"noted_s": 60.0, "refused_s": 300.0}
CELLS = {"c1": {"name": "one", "disabled": False}, "c2": {"name": "two", "disabled": False}}


class Clocks:
    """The store's clock and that of this process, which agree on intervals only."""

    def __init__(self):
        self.seconds = 0.0
        self.readings = 0
        self.store = MemoryStore("default", clock=self.store_ms)

    def store_ms(self):
        self.readings += 1
        return START_MS + round(1000 * self.seconds)

    def state_age(self):
        return NovaStateAge(self.store, **LIMITS, clock=lambda: 77_000 + self.seconds)


def table_of(bridge):
    documents = {f"@api/h{number}": compute_node(cell=f"c{number}") for number in (1, 2)}
    states = {"compute_node": documents, "nova_bridge": {"bridge": bridge} if bridge else {}}
    state = dataclasses.replace(snapshot({name: node() for name in documents}), states=states)
    return HostTable.from_snapshot(state, reads=service_filter.FILTER.reads)


def bridge_document(**cells):
    merged = {uuid: {**cell, **cells.get(uuid, {})} for uuid, cell in CELLS.items()}
    return {"read_ms": START_MS, "interval_ms": 5000, "cells": merged, "all_computes_own": False}


def check(clocks, table, **fields):
    state_age = clocks.state_age()
    now_ms = state_age.now_ms()
    with table.reading() as view:
        return state_age.check(view, request(**fields), now_ms)


@pytest.mark.parametrize(("seconds", "noted"), [(0, 0.0), (60, 0.0), (61, 61.0), (300, 300.0), (-10, 0.0)])
def test_hosts_stay_as_they_were_and_the_record_says_how_old_their_state_is(seconds, noted):
    clocks = Clocks()
    clocks.seconds = seconds
    checked = check(clocks, table_of(bridge_document()))
    assert checked.decision.host_state_age_s == noted
    assert checked.as_dict().get("host_state_age_s", 0.0) == noted


def test_requests_are_refused_after_the_patience():
    clocks = Clocks()
    clocks.seconds = 301
    with pytest.raises(errors.NoValidHost, match=r"Nova's databases were last read 301 s ago"):
        check(clocks, table_of(bridge_document()))
    assert check(clocks, table_of(bridge_document()), service="volume").decision.host_state_age_s == 0


def test_requests_are_refused_before_the_first_reading():
    with pytest.raises(errors.NoValidHost, match="were never read"):
        check(Clocks(), table_of(None))


@pytest.mark.parametrize(("seconds", "is_transient"), [(301, True), (360, True), (361, False)])
def test_refusal_by_an_old_state_may_pass_for_a_minute(seconds, is_transient):
    clocks = Clocks()
    clocks.seconds = seconds
    with pytest.raises(errors.NoValidHost, match=f"were last read {seconds} s ago") as refusal:
        check(clocks, table_of(bridge_document()))
    assert transient.may_pass(refusal.value) is is_transient
    assert f"last read {seconds} s ago" in str(nova_error(refusal.value))


@pytest.mark.parametrize("enough", [True, False])
def test_cell_is_just_too_old_only_if_its_host_meets_all_other_conditions(enough):
    clocks = Clocks()
    clocks.seconds = 301
    document = bridge_document(c2={"unread_since_ms": START_MS}) | {"read_ms": START_MS + 301_000}
    table = table_of(document)
    checked = check(clocks, table, resources={"VCPU": 1 if enough else 10_000})
    filters = [service_filter.FILTER, *pipeline.build(["ResourcesFilter"]), service_filter.WAITING]
    with table.reading() as view:
        survivors = pipeline.run(filters, view, checked)
    assert survivors.reasons == ({transient.CELL_JUST_OLD: 1} if enough else {"not enough VCPU": 2})


@pytest.mark.parametrize(("seconds", "rejected"), [(300, 0), (301, 1), (361, 1)])
def test_hosts_of_a_cell_that_is_not_read_are_rejected_after_the_patience(seconds, rejected):
    clocks = Clocks()
    clocks.seconds = seconds
    document = bridge_document(c2={"unread_since_ms": START_MS}) | {"read_ms": START_MS + 1000 * seconds}
    table = table_of(document)
    checked = check(clocks, table)
    with table.reading() as view:
        survivors = pipeline.run([service_filter.FILTER, *pipeline.build([]), service_filter.WAITING], view, checked)
    reason = service_filter.REASON_UNREAD_CELL if seconds > 360 else transient.CELL_JUST_OLD
    expected = {reason: 1} if rejected else {}
    assert (survivors.count, survivors.reasons) == (2 - rejected, expected)


def test_stores_clock_is_not_read_for_each_request():
    clocks = Clocks()
    state_age = clocks.state_age()
    first, readings = state_age.now_ms(), clocks.readings
    clocks.seconds = 59
    assert state_age.now_ms() - first == 59_000 and clocks.readings == readings
    clocks.seconds = 61
    assert state_age.now_ms() - first == 61_000 and clocks.readings > readings


def test_refusal_says_how_old_the_state_was():
    error = errors.NoValidHost(reason="3 not enough VCPU", reasons={"not enough VCPU": 3})
    assert refusals.with_state_age(error, request()) is error
    aged = refusals.with_state_age(error, request().with_decision(host_state_age_s=90.0))
    assert str(aged) == "No valid host: 3 not enough VCPU; the state of hosts is 90 s old"
    assert aged.kwargs["reasons"] == {"not enough VCPU": 3}


@pytest.mark.parametrize("batched", [False, True])
def test_selection_checks_the_age_and_refusals_name_it(batched):
    class Aged:
        def now_ms(self):
            return 0.0

        def check(self, view, scheduling_request, now_ms):
            return scheduling_request.with_decision(host_state_age_s=90.0)

    worker = PartitionedDeployment(p={"a": node()}).worker
    current = CurrentPolicy(SchedulingPolicy(filter_driver()))
    rewriter = RequestRewriter(worker.partitions, Aged())
    scheduler = RequestIntake(current, worker.scheduler, rewriter, worker.partitions)
    call = SelectionCall(context.RequestContext(request_id="req-1"), request({"VCPU": 10_000}), ("c1",))
    outcome = None
    if batched:
        (outcome,) = scheduler.select_batch([call])
    else:
        with pytest.raises(errors.NoValidHost) as refusal:
            scheduler.select(call)
        outcome = refusal.value
    assert "the state of hosts is 90 s old" in str(outcome)


def test_worker_refuses_hosts_that_are_not_novas_and_everything_before_the_first_reading():
    worker = FakeTransportWorker()
    worker.conf.set_override("enabled", True, group="nova")
    worker.service.start()
    try:
        worker.join("a", {"a/1": node_report()})
        with pytest.raises(errors.NoValidHost, match="were never read"):
            worker.select()
        document = bridge_document() | {"read_ms": worker.store.clock_ms()}
        worker.store.put_state("nova_bridge", "bridge", 0, document)
        worker.catch_up()
        with pytest.raises(errors.NoValidHost, match=f"1 {service_filter.REASON_UNKNOWN}"):
            worker.select()
    finally:
        worker.service.stop()
        worker.service.wait()
