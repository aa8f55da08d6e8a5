# SPDX-License-Identifier: Apache-2.0
"""The documented example plugins, installed with pip, in a complete scheduler worker."""

import pytest

from rpcapi import context, errors, objects
from tests.support.scheduler.outside import install_example
from tests.support.scheduler.workers import FakeTransportWorker, node_report


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install_example(tmp_path_factory)


@pytest.fixture
def worker(installed, monkeypatch):
    monkeypatch.syspath_prepend(installed)
    worker = FakeTransportWorker()
    worker.conf.set_override(
        "enabled_filters", ["ComputeFilter", "MaintenanceFilter", "PowerFilter"], "filter_scheduler"
    )
    worker.conf.set_override("enabled_weighers", ["PowerWeigher"], "filter_scheduler")
    worker.service.start()
    for host, watts in (("h0", 15), ("h1", 300), ("h2", 200), ("h3", None)):
        metrics = {} if watts is None else {"watts_free": watts}
        worker.join(host, {host: node_report() | {"metrics": metrics}})
    yield worker
    worker.service.stop()
    worker.service.wait()


def test_example_filters_and_weigher_affect_the_decision(worker):
    result = worker.scheduler.dry_run(context.new(), objects.RequestSpec.of(resources={"VCPU": 2})).document
    assert result["candidates"] == [["h1", "h2", "h3"]]
    assert result["reasons"] == {"not enough power": 1}
    assert result["samples"] == {"not enough power": ["h0"]}
    assert result["best"][0]["weights"] == {"PowerWeigher": 1.0}


def test_per_host_filter_reads_aggregates_and_hints(worker):
    soon = [{"id": "soon", "hosts": ["h1", "h2", "h3"], "metadata": {"maintenance": "soon"}}]
    worker.scheduler.update_aggregates(context.new(), soon)
    assert worker.service._worker.scheduling.partitions.own.replica.reach(worker.store.state.position, 10)
    with pytest.raises(errors.NoValidHost, match="1 not enough power, 3 maintenance soon"):
        worker.select(resources={"VCPU": 2})
    worker.select(resources={"VCPU": 2}, hints={"short_lived": "yes"})


def test_plugins_are_listed_with_distribution_and_timings(worker):
    worker.select(resources={"VCPU": 2})
    listing = worker.scheduler.list_filters(context.new(), "filter")
    row = {name: index for index, name in enumerate(listing.names)}
    power, maintenance = row["PowerFilter"], row["MaintenanceFilter"]
    assert row["ComputeFilter"] < power < maintenance, "per-host filters come last"
    assert (listing.sources[power], listing.forms[power], listing.enabled[power]) == (
        "gantt-racks 1.0",
        "columnar",
        True,
    )
    assert listing.reads[power] == {"compute": ["metrics.watts_free"]}
    assert (listing.sources[maintenance], listing.forms[maintenance]) == ("gantt-racks 1.0", "per-host")
    assert (listing.calls[maintenance], listing.hosts[maintenance], listing.errors[maintenance]) == (1, 3, 0)
    assert listing.seconds[maintenance] > 0
    off = row["TraitsFilter"]
    assert (listing.sources[off], listing.enabled[off], listing.forms[off]) == ("gantt", False, "columnar")
    weighers = worker.scheduler.list_filters(context.new(), "weigher")
    assert [name for name, enabled in zip(weighers.names, weighers.enabled, strict=True) if enabled] == ["PowerWeigher"]
    with pytest.raises(errors.InvalidRequest):
        worker.scheduler.list_filters(context.new(), "driver")


def test_agents_are_requested_to_report_the_metric_that_a_plugin_reads(worker):
    answer = worker.report("h0", {"h0": node_report()}, sequence=2)
    assert "metrics.watts_free" in answer.required_keys
