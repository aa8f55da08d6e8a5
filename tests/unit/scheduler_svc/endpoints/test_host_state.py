# SPDX-License-Identifier: Apache-2.0
"""Methods that report, read and change host state, over the bus."""

import math

import pytest

from rpcapi import context, errors, objects
from rpcapi.clients.scheduler import BusBackend
from rpcapi.serializer import GanttSerializer
from tests.support.scheduler.workers import node_report


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
    assert worker.service._worker.scheduling.partitions.own.replica.reach(worker.store.state.position, 10)
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


def test_catalog_has_flavors_and_images_and_nothing_else(worker):
    ctxt = context.new()
    for name in ("c1", "c2", "c3"):
        document = {"name": name, "vcpus": 1, "memory_mb": 64, "disk_gb": 0, "extra_specs": {}}
        state = objects.HostState.of(namespace="flavor", name=name, version=0, document=document)
        worker.scheduler.update_host_state(ctxt, state, "gantt")
    page = worker.scheduler.list_catalog(ctxt, "flavor", limit=2)
    rest = worker.scheduler.list_catalog(ctxt, "flavor", page.marker)
    assert [state.document["name"] for state in [*page.states, *rest.states]] == ["c1", "c2", "c3"]
    assert worker.scheduler.list_catalog(ctxt, "image").states == []
    # An image as clients write it, which is replaced by one of unknown format
    version = 0
    for disk_format in ("qcow2", None):
        document = {"name": "i", "id": "i", "disk_format": disk_format, "properties": {}}
        state = objects.HostState.of(namespace="image", name="i", version=version, document=document)
        version = worker.scheduler.update_host_state(ctxt, state, "gantt").version
    (image,) = worker.scheduler.list_catalog(ctxt, "image").states
    assert image.document == {"name": "i", "id": "i", "properties": {}}
    for kind in ("compute", ""):
        with pytest.raises(errors.InvalidRequest, match="kind must be flavor or image"):
            worker.scheduler.list_catalog(ctxt, kind)


def test_services_are_listed_with_their_binary(worker):
    worker.scheduler.report_service(context.new(), "gantt-conductor", "somewhere")
    page = worker.scheduler.list_host_state(context.new(), "service")
    kinds = {state.document["binary"]: state.document["alive"] for state in page.states}
    assert kinds["gantt-conductor"] and kinds["gantt-scheduler"]


def test_oldest_versions_of_living_services_are_returned(worker):
    ctxt = context.new()
    worker.scheduler.report_service(ctxt, "gantt-conductor", "v1", {"conductor": "1.16"})
    worker.scheduler.report_service(ctxt, "gantt-conductor", "v2", {"conductor": "1.9"})
    worker.report("v", {"v/1": node_report()}, rpc_versions={"compute": "1.4"})
    assert worker.store.get_state("service", "v")[1]["rpc_versions"] == {"compute": "1.4"}
    versions = worker.scheduler.get_oldest_versions(ctxt)
    assert versions["scheduler"] == BusBackend.VERSION
    # other tests of this worker have services that report no versions
    assert versions["conductor"] in (None, "1.9")
    state = worker.scheduler.get_host_state(ctxt, "service", "v")
    state.document = {"rpc_versions": {"compute": "1.9"}}
    with pytest.raises(errors.InvalidRequest, match="rpc_versions of a service can be changed only by its reports"):
        worker.scheduler.update_host_state(ctxt, state, "gantt")


def test_malformed_versions_are_refused(worker):
    with pytest.raises(errors.InvalidRequest, match="versions must map"):
        worker.scheduler.report_service(context.new(), "gantt-conductor", "odd", {"conductor": "new"})
    with pytest.raises(errors.InvalidRequest, match="versions must map"):
        worker.report("odd", {"odd/1": node_report()}, rpc_versions=["1.0"])
    assert not {name for name, *_rest in worker.store.list_state("service")[0]} & {"odd", "gantt-conductor@odd"}


@pytest.fixture
def clock_ahead(monkeypatch):
    """Return a function that moves the clock of all senders by some milliseconds."""
    serialize = GanttSerializer.serialize_context

    def move(ahead_ms):
        def serialize_there(self, ctxt):
            raw = serialize(self, ctxt)
            return raw | {"sent_ms": raw["sent_ms"] + ahead_ms, "deadline": raw["deadline"] + ahead_ms / 1000}

        monkeypatch.setattr(GanttSerializer, "serialize_context", serialize_there)

    return move


def offsets_of(worker):
    states = worker.store.list_state("service")[0]
    return {name: document["clock_offset_ms"] for name, _version, document in states}


def test_clocks_of_services_that_are_off_are_shown(worker, clock_ahead):
    worker.report("st", {"st/1": node_report()})
    worker.scheduler.report_service(context.new(), "gantt-conductor", "m1")
    assert not any(offsets_of(worker).values())
    clock_ahead(3_600_000)
    worker.report("st", {}, sequence=2, base=1, full=False)
    worker.scheduler.report_service(context.new(), "gantt-conductor", "m1")
    offsets = offsets_of(worker)
    assert offsets["st"] > 3_500_000 and offsets["gantt-conductor@m1"] > 3_500_000


def test_clock_so_far_behind_that_heartbeats_are_late_is_shown(worker, clock_ahead):
    worker.report("st", {"st/1": node_report()})
    worker.scheduler.report_service(context.new(), "gantt-conductor", "m1")
    clock_ahead(-3_600_000)
    with pytest.raises(errors.DeadlinePassed):
        worker.report("st", {}, sequence=2, base=1, full=False)
    with pytest.raises(errors.DeadlinePassed):
        worker.scheduler.report_service(context.new(), "gantt-conductor", "m1")
    offsets = offsets_of(worker)
    assert offsets["st"] < -3_500_000 and offsets["gantt-conductor@m1"] < -3_500_000


@pytest.mark.parametrize("is_late", [False, True])
def test_report_of_a_host_proves_that_the_bus_delivers(worker, clock_ahead, is_late):
    replica = worker.service._worker.scheduling.partitions.own.replica
    replica._last_report = -math.inf
    worker.scheduler.report_service(context.new(), "gantt-conductor", "m1")
    assert replica.reports_silent_s() == math.inf
    if is_late:
        clock_ahead(-3_600_000)
        with pytest.raises(errors.DeadlinePassed):
            worker.report("st", {"st/1": node_report()})
    else:
        worker.report("st", {"st/1": node_report()})
    assert replica.reports_silent_s() < math.inf


@pytest.mark.parametrize(
    ("error", "ask"),
    [
        (errors.InvalidStats, lambda worker: worker.report("h", {"other/1": node_report()})),
        (errors.InvalidName, lambda worker: worker.report("h/1", {"h/1": node_report()})),
        (errors.InvalidRequest, lambda worker: worker.report("h", {}, sequence=0)),
        (errors.UnknownHost, lambda worker: worker.scheduler.get_host_state(context.new(), "compute", "nowhere")),
        (errors.UnknownNamespace, lambda worker: worker.scheduler.list_host_state(context.new(), "weather")),
        (errors.InvalidRequest, lambda worker: worker.scheduler.list_host_state(context.new(), "compute", None, 0)),
    ],
)
def test_invalid_input_is_a_typed_error_and_changes_nothing(worker, error, ask):
    before = (dict(worker.store.state.claims), set(worker.store.state.providers))
    with pytest.raises(error):
        ask(worker)
    assert (dict(worker.store.state.claims), set(worker.store.state.providers)) == before
