# SPDX-License-Identifier: Apache-2.0
"""A filter that reads a custom namespace, in a complete worker: declaration, publication over RPC, decisions."""

import json

import pytest

from rpcapi import context, errors, objects
from scheduler_svc.core import built_in
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from tests.support.scheduler.rack_worker import RackWorker

NODES = {"west": ["west/1", "west/2"], "east": ["east/1"]}


def powered(view, request):
    yield HostPredicate("no power left", view.state("rack", "watts_free") >= 500)


POWER = Filter("PowerFilter", powered, {"rack": frozenset({"watts_free"})})


@pytest.fixture
def worker(tmp_path, monkeypatch):
    own = pipeline.pipeline
    monkeypatch.setattr(pipeline, "pipeline", lambda weights: (*own(weights), POWER))
    monkeypatch.setattr(built_in, "FILTER_NAMES", (*built_in.FILTER_NAMES, "PowerFilter"))
    schema = tmp_path / "rack.json"
    schema.write_text(json.dumps({"properties": {"watts_free": {"type": "number", "minimum": 0}}}))
    worker = RackWorker(schema)
    yield worker
    worker.service.stop()
    worker.service.wait()


def start(worker, *filters):
    worker.enable(*filters)
    worker.service.start()
    for host, names in NODES.items():
        worker.join(host, names)
    return worker


def test_published_namespace_affects_decisions(worker):
    start(worker, "PowerFilter")
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


def test_invalid_host_state_is_refused_over_rpc(worker):
    start(worker, "PowerFilter")
    with pytest.raises(errors.InvalidHostState, match="watts_free"):
        worker.publish("west", watts_free=-1)
    state = objects.HostState.of(namespace="rack", name="west", version=0, document={"watts_free": 900})
    with pytest.raises(errors.WriterRefused):
        worker.scheduler.update_host_state(context.new(), state, "gantt")
    assert worker.scheduler.list_host_state(context.new(), "rack").states == []


def test_host_state_listing_is_filtered_and_paged(worker):
    start(worker)
    for number in range(5):
        worker.publish(f"h{number}", watts_free=number % 2)
    page = worker.scheduler.list_host_state(context.new(), "rack", None, 2, matching={"watts_free": 1})
    assert [state.name for state in page.states] == ["h1", "h3"]
    nodes = worker.scheduler.list_host_state(context.new(), "compute", matching={"host": "west"}).states
    assert [state.name for state in nodes] == ["west/1", "west/2"]
    with pytest.raises(errors.UnknownPartition):
        worker.scheduler.list_host_state(context.new(), "rack", partition="moon")


def test_worker_stores_only_reads_and_a_reload_adds_them(worker):
    start(worker)
    worker.publish("west", watts_free=900)
    worker.publish("east", watts_free=0)
    worker.caught_up()
    with (
        worker.service._worker.scheduling.partitions.own.replica.table.reading() as view,
        pytest.raises(LookupError),
    ):
        view.documents("rack")
    worker.enable("PowerFilter")
    worker.service.reset()
    assert worker.select() in NODES["west"]


def test_agents_are_requested_to_report_the_reads_and_a_reload_changes_them(worker):
    start(worker)
    assert worker.report("west", NODES["west"], 2).required_keys == ["inventories"]
    worker.conf.set_override("weight_setting", ["heat=-1"], group="metrics")
    worker.enable("TraitsFilter", "MetricsFilter")
    worker.service.reset()
    answer = worker.report("west", NODES["west"], 3, metrics={"heat": 50})
    assert answer.required_keys == ["inventories", "metrics.heat", "traits"]
    worker.report("east", NODES["east"], 4, metrics={"heat": 20})
    assert worker.select() in [*NODES["west"], *NODES["east"]]
    worker.enable()
    worker.service.reset()
    assert worker.report("west", NODES["west"], 5).required_keys == ["inventories"]


def test_host_can_be_removed(worker):
    start(worker)
    worker.scheduler.remove_host(context.new(), "east")
    worker.scheduler.remove_host(context.new(), "east")
    assert worker.select() in NODES["west"]
    with pytest.raises(errors.HostInUse):
        worker.scheduler.remove_host(context.new(), "west")


def test_decisions_are_listed_in_pages(worker):
    start(worker)
    for _ in range(3):
        worker.select()
    first = worker.scheduler.list_decisions(context.new(), limit=2)
    rest = worker.scheduler.list_decisions(context.new(), marker=first.marker)
    assert (len(first.decisions), len(rest.decisions), rest.marker) == (2, 1, None)
    assert {decision.document["outcome"] for decision in [*first.decisions, *rest.decisions]} == {"selected"}
