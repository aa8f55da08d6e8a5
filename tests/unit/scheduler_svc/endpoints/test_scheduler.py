# SPDX-License-Identifier: Apache-2.0
"""Topic ``scheduler``, over the bus."""

import uuid

import pytest

from rpcapi import context, errors
from rpcapi.clients import scheduler
from rpcapi.messaging import bus
from tests.unit.scheduler_svc.fakes.workers import FakeTransportWorker, metric_value, node_report


@pytest.fixture(scope="module")
def worker():
    created = FakeTransportWorker()
    created.service.start()
    yield created
    created.service.stop()
    created.service.wait()


def test_decision_is_explained_by_request_id(worker):
    worker.join("why", {"why/1": node_report()})
    ctxt = context.new()
    uuids, _ = worker.select(1, ctxt, force_hosts=["why"])
    decision = worker.scheduler.explain(context.new(), ctxt.request_id)
    assert decision.document["outcome"] == "selected"
    assert decision.document["verdicts"][0]["consumer"] == uuids[0]
    assert decision.document["spec"]["force_hosts"] == ["why"]
    with pytest.raises(errors.UnknownDecision):
        worker.scheduler.explain(context.new(), "req-unheard-of")


def test_refusal_of_unknown_forced_host_is_explained(worker):
    ctxt = context.new()
    with pytest.raises(errors.UnknownHost, match="'nowhere'"):
        worker.select(2, ctxt, force_hosts=["nowhere"])
    document = worker.scheduler.explain(context.new(), ctxt.request_id).document
    assert (document["outcome"], document["instances"], document["hosts"]) == ("refused", 2, 0)
    assert document["why"].startswith("No host or node named 'nowhere' is known")
    assert document["spec"]["force_hosts"] == ["nowhere"]


def test_refusal_is_a_typed_error_with_reasons(worker):
    worker.join("small", {"small/1": node_report()})
    with pytest.raises(errors.NoValidHost, match="1 not enough VCPU") as caught:
        worker.select(force_hosts=["small"], resources={"VCPU": 9})
    assert caught.value.kwargs["reasons"]["not enough VCPU"] == 1


def test_stats_are_applied_once_and_deltas_need_their_base(worker):
    assert not worker.report("st", {"st/1": node_report()}).need_full
    delta = worker.report("st", {"st/1": {"traits": ["CUSTOM_NEW"]}}, sequence=2, base=1, full=False)
    assert (delta.need_full, delta.audit) == (False, True)
    state = worker.scheduler.get_host_state(context.new(), "compute", ("st", "1"))
    assert state.document["traits"] == ["CUSTOM_NEW"]
    assert state.document["inventories"]["VCPU"]["capacity"] == 8
    assert worker.report("st", {}, sequence=9, base=7, full=False).need_full


def test_only_an_operator_can_disable_a_host(worker):
    worker.join("off", {"off/1": node_report()})
    ctxt = context.new()
    state = worker.scheduler.get_host_state(ctxt, "service", "off")
    state.document = {"enabled": False, "disabled_reason": "repair"}
    with pytest.raises(errors.WriterRefused):
        worker.scheduler.update_host_state(ctxt, state, "gantt-conductor")
    new = worker.scheduler.update_host_state(ctxt, state, "gantt")
    assert (new.document["enabled"], new.document["disabled_reason"]) == (False, "repair")
    again = state.obj_clone()
    again.document = {"enabled": True}
    with pytest.raises(errors.VersionConflict):
        worker.scheduler.update_host_state(ctxt, again, "gantt")
    assert worker.service._worker.partition_set.partitions.own.replica.reach(worker.store.state.position, 10)
    with pytest.raises(errors.NoValidHost, match="1 service disabled"):
        worker.select(force_hosts=["off"])


def test_host_states_are_paged(worker):
    worker.report("page", {f"page/{number}": node_report() for number in range(5)})
    documents, marker = [], "page"
    while marker is not None and marker.startswith("page"):
        page = worker.scheduler.list_host_state(context.new(), "compute", marker, 2)
        documents += [state.name for state in page.states if state.name.startswith("page/")]
        marker = page.marker
    assert documents == [f"page/{number}" for number in range(5)]


def test_services_are_listed_with_their_binary(worker):
    worker.scheduler.report_service(context.new(), "gantt-conductor", "somewhere")
    page = worker.scheduler.list_host_state(context.new(), "service")
    kinds = {state.document["binary"]: state.document["alive"] for state in page.states}
    assert kinds["gantt-conductor"] and kinds["gantt-scheduler"]


def call(worker, method, version="1.0", topic=scheduler.BusBackend, **values):
    backend = scheduler.BusBackend(worker.conf, bus.get_transport(worker.conf))
    return backend.call(context.new(), version, method, **values)


@pytest.mark.parametrize(
    ("error", "ask"),
    [
        (errors.InvalidCount, lambda worker: worker.select(0, uuids=[])),
        (errors.InvalidCount, lambda worker: worker.select(1001)),
        (errors.InvalidRequest, lambda worker: worker.select(uuids=[str(uuid.UUID(int=1))] * 2)),
        (errors.InvalidName, lambda worker: worker.select(uuids=["not-a-uuid"])),
        (errors.InvalidSpec, lambda worker: worker.select(resources={"VCPU": -1})),
        (errors.InvalidSpec, lambda worker: worker.select(resources={})),
        (errors.UnknownResourceClass, lambda worker: worker.select(resources={"WARP": 1})),
        (errors.UnknownTrait, lambda worker: worker.select(required_traits=["SHINY"])),
        (errors.UnknownHost, lambda worker: worker.select(force_hosts=["nowhere"])),
        (errors.MalformedObject, lambda worker: call(worker, "select_destinations", spec=None, uuids=["a"])),
        (errors.MalformedObject, lambda worker: call(worker, "select_destinations", spec=None)),
        (errors.InvalidStats, lambda worker: worker.report("h", {"other/1": node_report()})),
        (errors.InvalidName, lambda worker: worker.report("h/1", {"h/1": node_report()})),
        (errors.InvalidRequest, lambda worker: worker.report("h", {}, sequence=0)),
        (errors.UnknownHost, lambda worker: worker.scheduler.get_host_state(context.new(), "compute", "nowhere")),
        (errors.UnknownNamespace, lambda worker: worker.scheduler.list_host_state(context.new(), "weather")),
        (errors.InvalidRequest, lambda worker: worker.scheduler.list_host_state(context.new(), "compute", None, 0)),
        (errors.InvalidRequest, lambda worker: worker.claims.list_claims(context.new(), limit=5000)),
        (errors.InvalidName, lambda worker: worker.claims.confirm_claims(context.new(), "a/b", worker.refs(["x"]))),
    ],
)
def test_invalid_input_is_a_typed_error_and_changes_nothing(worker, error, ask):
    before = (dict(worker.store.state.claims), set(worker.store.state.providers))
    with pytest.raises(error):
        ask(worker)
    assert (dict(worker.store.state.claims), set(worker.store.state.providers)) == before


def test_calls_are_counted(worker):
    worker.join("count", {"count/1": node_report()})
    served = {"method": "select_destinations", "code": "ok"}
    refused = {"method": "select_destinations", "code": "no_valid_host"}
    before = metric_value("calls_total", **served), metric_value("calls_total", **refused)
    selections, fits = metric_value("instances_placed_total"), metric_value("verdicts_total", verdict="FITS")
    decisions = metric_value("decision_seconds_count")
    uuids, _ = worker.select(2, force_hosts=["count"])
    with pytest.raises(errors.NoValidHost):
        worker.select(force_hosts=["count"], resources={"VCPU": 99})
    assert (metric_value("calls_total", **served), metric_value("calls_total", **refused)) == (
        before[0] + 1,
        before[1] + 1,
    )
    assert metric_value("instances_placed_total") == selections + 2
    assert metric_value("verdicts_total", verdict="FITS") == fits + 2
    assert metric_value("decision_seconds_count") == decisions + 2
    confirmed = metric_value("claims_total", verb="confirm", answer="confirmed")
    worker.claims.confirm_claims(context.new(), "count", worker.refs(uuids))
    assert metric_value("claims_total", verb="confirm", answer="confirmed") == confirmed + 2
    assert metric_value("epoch", partition="default") == worker.store.state.epoch
    assert (
        metric_value("hosts", partition="default")
        == worker.service._worker.partition_set.partitions.own.replica.table.hosts
    )
