# SPDX-License-Identifier: Apache-2.0
"""One worker, in this process, on oslo.messaging's fake transport and the memory store: as its peers see it."""

import threading
import time
import uuid

import pytest
from oslo_config import cfg
from prometheus_client import REGISTRY

from rpcapi import bus, claims, context, errors, objects, scheduler
from rpcapi.daemon.waiting import Stopped
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.opening import open_configured
from scheduler_svc.service import SchedulerService
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.hosts import ASKED, node


def configure(conf):
    scheduler_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    conf.set_override("call_timeout", 20.0, group="rpc")
    return conf


class Worker:
    """A running worker, its store, and clients of it."""

    def __init__(self, **options):
        self.conf = cfg.ConfigOpts()
        self.conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        configure(self.conf)
        for name, value in options.items():
            self.conf.set_override(name, value, group="scheduler")
        self.store = MemoryStore("default")
        self.service = SchedulerService(self.conf, 0, lambda conf, partition: self.store)
        transport = bus.get_transport(self.conf)
        self.scheduler = scheduler.SchedulerAPI(self.conf, transport)
        self.claims = claims.ClaimsAPI(self.conf, transport, "default")

    def report(self, host, told, sequence=1, base=0, full=True):
        stats = objects.StatsReport.of(incarnation=1, sequence=sequence, base=base, full=full, nodes=told)
        return self.scheduler.update_resource_stats(context.new(), host, stats)

    def audit(self, host, epoch, **columns):
        empty = {key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")}
        report = objects.AuditReport.of(host=host, epoch=epoch, **(empty | columns))
        return self.claims.audit_host(context.new(), report)

    def join(self, host, told):
        """Report and audit as an agent does at start, and wait until the worker has read it."""
        answer = self.report(host, told)
        self.audit(host, answer.epoch)
        assert self.service._opened.partitions.own.replica.reach(self.store.state.position, 10)

    def select(self, count=1, ctxt=None, uuids=None, **spec):
        wanted = objects.RequestSpec.of(**({"resources": ASKED} | spec))
        uuids = uuids or [str(uuid.uuid4()) for _ in range(count)]
        return uuids, self.scheduler.select_destinations(ctxt or context.new("p", "u"), wanted, uuids)

    def refs(self, uuids, attempt=1):
        return objects.ClaimRefs.of(consumers=uuids, attempts=[attempt] * len(uuids))


@pytest.fixture(scope="module")
def worker():
    made = Worker()
    made.service.start()
    yield made
    made.service.stop()
    made.service.wait()


def test_a_request_is_served_from_report_to_release(worker):
    worker.join("way", {"way/1": hosts_report()})
    ctxt = context.new("p", "u")
    uuids, selections = worker.select(2, ctxt, force_hosts=["way"])
    assert [selections.host(index) for index in range(2)] == ["way/1", "way/1"]
    assert selections.partition == "default"
    assert selections.deadline_ms > time.time() * 1000
    confirmed = worker.claims.confirm_claims(ctxt, "way", worker.refs(uuids))
    assert confirmed.answers == ["confirmed"] * 2
    page = worker.claims.list_claims(ctxt, host="way")
    assert {claim["consumer"] for claim in page.claims} == set(uuids)
    assert {claim["state"] for claim in page.claims} == {"confirmed"}
    aborted = worker.claims.abort_claims(ctxt, worker.refs(uuids[:1]))
    assert aborted.answers == ["confirmed"]
    assert "belongs to its host" in aborted.reasons[0]
    assert worker.claims.verify(ctxt).clean
    released = worker.claims.release_claims(ctxt, "way", worker.refs(uuids))
    assert released.answers == ["released"] * 2
    assert released.reasons == ["", ""]
    assert worker.claims.list_claims(ctxt, host="way").claims == []


def hosts_report():
    """Return a node as an agent tells it: without the capacity that only the scheduler computes."""
    told = node()
    for inventory in told["inventories"].values():
        del inventory["capacity"]
    return told


def test_a_decision_is_explained_under_its_request_id(worker):
    worker.join("why", {"why/1": hosts_report()})
    ctxt = context.new()
    uuids, _ = worker.select(1, ctxt, force_hosts=["why"])
    decision = worker.scheduler.explain(context.new(), ctxt.request_id)
    assert decision.document["outcome"] == "selected"
    assert decision.document["verdicts"][0]["consumer"] == uuids[0]
    assert decision.document["spec"]["force_hosts"] == ["why"]
    with pytest.raises(errors.UnknownDecision):
        worker.scheduler.explain(context.new(), "req-unheard-of")


def test_the_refusal_of_a_forced_host_that_nobody_knows_is_explained(worker):
    ctxt = context.new()
    with pytest.raises(errors.UnknownHost, match="'nowhere'"):
        worker.select(2, ctxt, force_hosts=["nowhere"])
    document = worker.scheduler.explain(context.new(), ctxt.request_id).document
    assert (document["outcome"], document["instances"], document["hosts"]) == ("refused", 2, 0)
    assert document["why"].startswith("No host or node named 'nowhere' is known")
    assert document["spec"]["force_hosts"] == ["nowhere"]


def test_a_refusal_arrives_typed_with_its_reasons(worker):
    worker.join("small", {"small/1": hosts_report()})
    with pytest.raises(errors.NoValidHost, match="1 not enough VCPU") as caught:
        worker.select(force_hosts=["small"], resources={"VCPU": 9})
    assert caught.value.kwargs["reasons"]["not enough VCPU"] == 1


def test_an_alternate_is_claimed_in_place_of_what_was_refused(worker):
    worker.join("alt", {"alt/1": hosts_report(), "alt/2": hosts_report()})
    ctxt = context.new()
    (consumer,), selections = worker.select(1, ctxt, force_hosts=["alt"])
    (alternate,) = selections.alternates_of(0)
    intents = objects.ClaimIntents.of(
        spec=objects.RequestSpec.of(resources=ASKED),
        consumers=[consumer],
        attempts=[2],
        replaces=[1],
        candidates=[[alternate]],
        epoch=selections.epoch,
        position=selections.position,
    )
    answers = worker.claims.prepare_claims(ctxt, intents)
    assert (answers.answers, answers.hosts) == (["prepared"], [alternate])
    refused = intents.obj_clone()
    refused.spec.resources = {"VCPU": 100}
    refused.attempts, refused.replaces = [3], [2]
    told = worker.claims.prepare_claims(ctxt, refused)
    assert (told.answers, told.hosts) == (["refused"], [None])
    assert told.reasons[0].startswith(f"{alternate}: ")


def test_stats_are_applied_once_and_deltas_on_their_base(worker):
    assert not worker.report("st", {"st/1": hosts_report()}).need_full
    delta = worker.report("st", {"st/1": {"traits": ["CUSTOM_NEW"]}}, sequence=2, base=1, full=False)
    assert (delta.need_full, delta.audit) == (False, True)
    state = worker.scheduler.get_host_state(context.new(), "compute", ("st", "1"))
    assert state.document["traits"] == ["CUSTOM_NEW"]
    assert state.document["inventories"]["VCPU"]["capacity"] == 8
    assert worker.report("st", {}, sequence=9, base=7, full=False).need_full


def test_an_operator_disables_a_host_and_only_an_operator(worker):
    worker.join("off", {"off/1": hosts_report()})
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
    assert worker.service._opened.partitions.own.replica.reach(worker.store.state.position, 10)
    with pytest.raises(errors.NoValidHost, match="1 service disabled"):
        worker.select(force_hosts=["off"])


def test_host_states_are_paged_to_the_end(worker):
    worker.report("page", {f"page/{number}": hosts_report() for number in range(5)})
    found, marker = [], "page"
    while marker is not None and marker.startswith("page"):
        page = worker.scheduler.list_host_state(context.new(), "compute", marker, 2)
        found += [state.name for state in page.states if state.name.startswith("page/")]
        marker = page.marker
    assert found == [f"page/{number}" for number in range(5)]


def test_services_are_listed_with_their_kind(worker):
    worker.scheduler.report_service(context.new(), "gantt-conductor", "somewhere")
    page = worker.scheduler.list_host_state(context.new(), "service")
    kinds = {state.document["binary"]: state.document["alive"] for state in page.states}
    assert kinds["gantt-conductor"] and kinds["gantt-scheduler"]


def test_an_audit_reasserts_what_runs_and_settles_the_rest(worker):
    worker.join("aud", {"aud/1": hosts_report()})
    epoch = worker.store.state.epoch
    consumer = str(uuid.uuid4())
    owner = {"type": "INSTANCE", "project": "p", "user": "u", "request_id": "r"}
    columns = {
        "consumers": [consumer],
        "attempts": [1],
        "states": ["confirmed"],
        "names": ["aud/1"],
        "allocations": [{"aud/1": ASKED}],
        "owners": [owner],
    }
    answer = worker.audit("aud", epoch, **columns)
    assert (answer.answers, answer.reasserted) == (["confirmed"], 1)
    orphaned = worker.audit("aud", epoch)
    assert orphaned.orphans == 1 and orphaned.again_s > 0
    assert worker.audit("aud", epoch - 1, **columns).answers == []
    with pytest.raises(errors.MalformedObject, match="lacks project"):
        worker.audit("aud", epoch, **(columns | {"owners": [{"type": "INSTANCE", "user": "u", "request_id": "r"}]}))
    with pytest.raises(errors.MalformedObject, match="no state"):
        worker.audit("aud", epoch, **(columns | {"states": ["running"]}))


def call(worker, method, version="1.0", topic=scheduler.BusBackend, **values):
    backend = scheduler.BusBackend(worker.conf, bus.get_transport(worker.conf))
    return backend.call(context.new(), version, method, **values)


def test_a_fenced_hosts_claims_end_and_who_is_awaited_is_told(worker):
    worker.join("fen", {"fen": node()})
    worker.select(force_hosts=["fen"])
    assert worker.claims.verify(context.new()).awaited == []
    assert worker.claims.fence_host(context.new(), "fen") == 1
    assert worker.claims.fence_host(context.new(), "fen") == 0
    with pytest.raises(errors.UnknownHost, match="'nobody'"):
        worker.claims.fence_host(context.new(), "nobody")
    with pytest.raises(errors.InvalidName, match="one of its nodes"):
        worker.claims.fence_host(context.new(), "fen/n1")


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
        (errors.InvalidStats, lambda worker: worker.report("h", {"other/1": hosts_report()})),
        (errors.InvalidName, lambda worker: worker.report("h/1", {"h/1": hosts_report()})),
        (errors.InvalidRequest, lambda worker: worker.report("h", {}, sequence=0)),
        (errors.UnknownHost, lambda worker: worker.scheduler.get_host_state(context.new(), "compute", "nowhere")),
        (errors.UnknownNamespace, lambda worker: worker.scheduler.list_host_state(context.new(), "weather")),
        (errors.InvalidRequest, lambda worker: worker.scheduler.list_host_state(context.new(), "compute", None, 0)),
        (errors.InvalidRequest, lambda worker: worker.claims.list_claims(context.new(), limit=5000)),
        (errors.InvalidName, lambda worker: worker.claims.confirm_claims(context.new(), "a/b", worker.refs(["x"]))),
    ],
)
def test_bad_input_is_a_typed_error_and_changes_nothing(worker, error, ask):
    before = (dict(worker.store.state.claims), set(worker.store.state.providers))
    with pytest.raises(error):
        ask(worker)
    assert (dict(worker.store.state.claims), set(worker.store.state.providers)) == before


def figure(name, **labels):
    return REGISTRY.get_sample_value(f"gantt_{name}", labels) or 0


def test_what_is_served_is_counted(worker):
    worker.join("count", {"count/1": hosts_report()})
    served = {"method": "select_destinations", "code": "ok"}
    refused = {"method": "select_destinations", "code": "no_valid_host"}
    before = figure("calls_total", **served), figure("calls_total", **refused)
    placed, fits = figure("instances_placed_total"), figure("verdicts_total", verdict="FITS")
    decisions = figure("decision_seconds_count")
    uuids, _ = worker.select(2, force_hosts=["count"])
    with pytest.raises(errors.NoValidHost):
        worker.select(force_hosts=["count"], resources={"VCPU": 99})
    assert (figure("calls_total", **served), figure("calls_total", **refused)) == (before[0] + 1, before[1] + 1)
    assert figure("instances_placed_total") == placed + 2
    assert figure("verdicts_total", verdict="FITS") == fits + 2
    assert figure("decision_seconds_count") == decisions + 2
    confirmed = figure("claims_total", verb="confirm", answer="confirmed")
    worker.claims.confirm_claims(context.new(), "count", worker.refs(uuids))
    assert figure("claims_total", verb="confirm", answer="confirmed") == confirmed + 2
    assert figure("epoch", partition="default") == worker.store.state.epoch
    assert figure("hosts", partition="default") == worker.service._opened.partitions.own.replica.table.hosts


def test_a_reload_takes_the_filters_and_weighers_anew_and_keeps_them_where_they_are_wrong(worker):
    selector = worker.service._selector
    before = selector.driver
    worker.service.reset()
    assert isinstance(selector.driver, FilterDriver) and selector.driver is not before
    kept = selector.driver
    worker.conf.set_override("enabled_filters", ["Nonsense"], group="filter_scheduler")
    worker.service.reset()
    worker.conf.clear_override("enabled_filters", group="filter_scheduler")
    assert selector.driver is kept


class Away(MemoryStore):
    """A store that is not there at first."""

    def __init__(self):
        super().__init__("default")
        self.there = threading.Event()
        self.asked = threading.Event()

    def snapshot(self, namespaces=()):
        self.asked.set()
        if not self.there.is_set():
            raise errors.StoreUnavailable(why="not started yet")
        return super().snapshot(namespaces)


def test_a_store_that_is_away_at_start_is_waited_for(conf):
    store = Away()
    service = SchedulerService(configure(conf), 1, lambda conf, partition: store)
    starting = threading.Thread(target=service.start)
    starting.start()
    assert store.asked.wait(10)
    store.there.set()
    starting.join(30)
    assert not starting.is_alive()
    assert service._opened.partitions.own.replica.table.hosts == 0
    service.stop()
    service.wait()


def test_a_stop_ends_the_waiting(conf):
    store = Away()
    service = SchedulerService(configure(conf), 1, lambda conf, partition: store)
    ended = []

    def start():
        try:
            service.start()
        except Stopped as stopped:
            ended.append(stopped)

    starting = threading.Thread(target=start)
    starting.start()
    assert store.asked.wait(10)
    service.stop()
    starting.join(30)
    service.wait()
    assert len(ended) == 1


def test_a_configuration_that_cannot_work_ends_the_start(conf):
    configure(conf).set_override("driver", "nonsense", group="scheduler")
    with pytest.raises(errors.BadConfiguration):
        SchedulerService(conf, 0, lambda conf, partition: MemoryStore(partition)).start()


def test_the_configured_store_is_opened_by_its_url(conf):
    configure(conf).set_override("url", "memory://", group="store")
    assert open_configured(conf, "cell").partition == "cell"
