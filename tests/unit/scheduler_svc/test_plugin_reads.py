# SPDX-License-Identifier: Apache-2.0
"""A filter that reads a deployer's namespace, through a whole worker: declared, published over RPC, decided by."""

import json

import pytest
from oslo_config import cfg

from rpcapi import bus, claims, context, errors, objects, scheduler
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filter_scheduler, namespaces
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.service import SchedulerService
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.hosts import ASKED, node

NODES = {"west": ["west/1", "west/2"], "east": ["east/1"]}


def powered(view, request):
    yield Sieve("no power left", view.state("rack", "watts_free") >= 500)


POWER = Filter("PowerFilter", powered, {"rack": frozenset({"watts_free"})})


class Worker:
    """A worker that knows the plugin, its store, and a client of it."""

    def __init__(self, schema):
        self.conf = cfg.ConfigOpts()
        self.conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        scheduler_conf.register_opts(self.conf)
        bus.set_defaults(self.conf)
        self.conf.set_override("transport_url", "fake://")
        self.conf.set_override("control_exchange", "reads")
        self.conf.set_override("namespaces", ["rack"], group="scheduler")
        self.conf.register_opts(namespaces.OPTS, group="namespace:rack")
        self.conf.set_override("writer", "rackd", group="namespace:rack")
        self.conf.set_override("schema", str(schema), group="namespace:rack")
        self.store = MemoryStore("default", namespaces=namespaces.load(self.conf).kept)
        self.service = SchedulerService(self.conf, 0, lambda conf, partition: self.store)
        transport = bus.get_transport(self.conf)
        self.scheduler = scheduler.SchedulerAPI(self.conf, transport)
        self.claims = claims.ClaimsAPI(self.conf, transport, "default")

    def report(self, host, names, sequence=1, **keys):
        nodes = {name: node(**keys) for name in names}
        report = objects.StatsReport.of(incarnation=1, sequence=sequence, full=True, nodes=nodes)
        return self.scheduler.update_resource_stats(context.new(), host, report)

    def join(self, host, names):
        answer = self.report(host, names)
        empty = {key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")}
        self.claims.audit_host(context.new(), objects.AuditReport.of(host=host, epoch=answer.epoch, **empty))

    def publish(self, name, version=0, **document):
        state = objects.HostState.of(namespace="rack", name=name, version=version, document=document)
        return self.scheduler.update_host_state(context.new(), state, "rackd")

    def caught_up(self):
        assert self.service._opened.partitions.own.replica.reach(self.store.state.position, 10)

    def select(self):
        self.caught_up()
        spec = objects.RequestSpec.of(resources=ASKED)
        uuid = context.new().request_id.removeprefix("req-")
        return self.scheduler.select_destinations(context.new(), spec, [uuid]).host(0)

    def enable(self, *filters):
        self.conf.set_override("enabled_filters", ["ComputeFilter", *filters], group="filter_scheduler")


@pytest.fixture
def worker(tmp_path, monkeypatch):
    built_in = pipeline.pipeline
    monkeypatch.setattr(pipeline, "pipeline", lambda weights: (*built_in(weights), POWER))
    monkeypatch.setattr(filter_scheduler, "FILTERS", (*filter_scheduler.FILTERS, "PowerFilter"))
    schema = tmp_path / "rack.json"
    schema.write_text(json.dumps({"properties": {"watts_free": {"type": "number", "minimum": 0}}}))
    made = Worker(schema)
    yield made
    made.service.stop()
    made.service.wait()


def started(worker, *filters):
    worker.enable(*filters)
    worker.service.start()
    for host, names in NODES.items():
        worker.join(host, names)
    return worker


def test_a_namespace_that_its_writer_publishes_decides(worker):
    started(worker, "PowerFilter")
    with pytest.raises(errors.NoValidHost, match="3 no power left"):
        worker.select()
    west = worker.publish("west", watts_free=300)
    worker.publish("east", watts_free=900, row=7)
    assert worker.select() == "east/1"
    worker.publish("west/2", watts_free=600)
    worker.publish("east", worker.scheduler.get_host_state(context.new(), "rack", "east").version, watts_free=0)
    assert worker.select() == "west/2"
    worker.scheduler.delete_host_state(context.new(), "rack", "west/2", _version(worker, "west/2"), "rackd")
    with pytest.raises(errors.NoValidHost, match="3 no power left"):
        worker.select()
    assert worker.publish("west", west.version, watts_free=500).document == {"watts_free": 500}
    assert worker.select() in NODES["west"]


def _version(worker, name):
    return worker.scheduler.get_host_state(context.new(), "rack", name).version


def test_what_is_wrong_is_refused_over_the_bus_and_changes_nothing(worker):
    started(worker, "PowerFilter")
    with pytest.raises(errors.InvalidHostState, match="watts_free"):
        worker.publish("west", watts_free=-1)
    state = objects.HostState.of(namespace="rack", name="west", version=0, document={"watts_free": 900})
    with pytest.raises(errors.WriterRefused):
        worker.scheduler.update_host_state(context.new(), state, "gantt")
    assert worker.scheduler.list_host_state(context.new(), "rack").states == []


def test_a_listing_is_filtered_and_paged(worker):
    started(worker)
    for number in range(5):
        worker.publish(f"h{number}", watts_free=number % 2)
    page = worker.scheduler.list_host_state(context.new(), "rack", None, 2, matching={"watts_free": 1})
    assert [state.name for state in page.states] == ["h1", "h3"]
    nodes = worker.scheduler.list_host_state(context.new(), "compute", matching={"host": "west"}).states
    assert [state.name for state in nodes] == ["west/1", "west/2"]
    with pytest.raises(errors.UnknownPartition):
        worker.scheduler.list_host_state(context.new(), "rack", partition="moon")


def test_a_worker_keeps_only_what_its_filters_read_and_a_reload_fetches_the_rest(worker):
    started(worker)
    worker.publish("west", watts_free=900)
    worker.publish("east", watts_free=0)
    worker.caught_up()
    with worker.service._opened.partitions.own.replica.table.reading() as view, pytest.raises(LookupError):
        view.documents("rack")
    worker.enable("PowerFilter")
    worker.service.reset()
    assert worker.select() in NODES["west"]


def test_agents_are_asked_for_what_is_read_and_a_reload_changes_it(worker):
    started(worker)
    assert worker.report("west", NODES["west"], 2).wanted == ["inventories"]
    worker.conf.set_override("weight_setting", ["heat=-1"], group="metrics")
    worker.enable("TraitsFilter", "MetricsFilter")
    worker.service.reset()
    answer = worker.report("west", NODES["west"], 3, metrics={"heat": 50})
    assert answer.wanted == ["inventories", "metrics.heat", "traits"]
    worker.report("east", NODES["east"], 4, metrics={"heat": 20})
    assert worker.select() in [*NODES["west"], *NODES["east"]]
    worker.enable()
    worker.service.reset()
    assert worker.report("west", NODES["west"], 5).wanted == ["inventories"]


def test_a_host_leaves_for_good(worker):
    started(worker)
    worker.scheduler.remove_host(context.new(), "east")
    worker.scheduler.remove_host(context.new(), "east")
    assert worker.select() in NODES["west"]
    with pytest.raises(errors.HostInUse):
        worker.scheduler.remove_host(context.new(), "west")


def test_decisions_are_listed_in_pages(worker):
    started(worker)
    for _ in range(3):
        worker.select()
    first = worker.scheduler.list_decisions(context.new(), limit=2)
    rest = worker.scheduler.list_decisions(context.new(), marker=first.marker)
    assert (len(first.decisions), len(rest.decisions), rest.marker) == (2, 1, None)
    assert {each.document["outcome"] for each in [*first.decisions, *rest.decisions]} == {"selected"}
