# SPDX-License-Identifier: Apache-2.0
"""The documented example package, installed as an operator would, and decided by through a whole worker."""

import pytest

from rpcapi import context, errors, objects
from tests.unit.scheduler_svc.plugins.outside import install_example
from tests.unit.scheduler_svc.workers import Worker, hosts_report


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install_example(tmp_path_factory)


@pytest.fixture
def worker(installed, monkeypatch):
    monkeypatch.syspath_prepend(installed)
    made = Worker()
    made.conf.set_override("enabled_filters", ["ComputeFilter", "MaintenanceFilter", "PowerFilter"], "filter_scheduler")
    made.conf.set_override("enabled_weighers", ["PowerWeigher"], "filter_scheduler")
    made.service.start()
    for host, watts in (("h0", 15), ("h1", 300), ("h2", 200), ("h3", None)):
        metrics = {} if watts is None else {"watts_free": watts}
        made.join(host, {host: hosts_report() | {"metrics": metrics}})
    yield made
    made.service.stop()
    made.service.wait()


def test_its_filters_and_its_weigher_decide(worker):
    decided = worker.scheduler.dry_run(context.new(), objects.RequestSpec.of(resources={"VCPU": 2})).document
    assert decided["candidates"] == [["h1", "h2", "h3"]]
    assert decided["reasons"] == {"not enough power": 1}
    assert decided["samples"] == {"not enough power": ["h0"]}
    assert decided["best"][0]["weights"] == {"PowerWeigher": 1.0}


def test_the_per_host_filter_reads_aggregates_and_hints(worker):
    soon = [{"id": "soon", "hosts": ["h1", "h2", "h3"], "metadata": {"maintenance": "soon"}}]
    worker.scheduler.update_aggregates(context.new(), soon)
    assert worker.service._opened.partitions.own.replica.reach(worker.store.state.position, 10)
    with pytest.raises(errors.NoValidHost, match="1 not enough power, 3 maintenance soon"):
        worker.select(resources={"VCPU": 2})
    worker.select(resources={"VCPU": 2}, hints={"short_lived": "yes"})


def test_it_is_listed_with_its_distribution_and_what_it_costs(worker):
    worker.select(resources={"VCPU": 2})
    found = worker.scheduler.list_filters(context.new(), "filter")
    row = {name: index for index, name in enumerate(found.names)}
    power, maintenance = row["PowerFilter"], row["MaintenanceFilter"]
    assert row["ComputeFilter"] < power < maintenance, "what looks at hosts one by one comes last"
    assert (found.sources[power], found.forms[power], found.enabled[power]) == ("gantt-racks 1.0", "columnar", True)
    assert found.reads[power] == {"compute": ["metrics.watts_free"]}
    assert (found.sources[maintenance], found.forms[maintenance]) == ("gantt-racks 1.0", "per-host")
    assert (found.calls[maintenance], found.hosts[maintenance], found.errors[maintenance]) == (1, 3, 0)
    assert found.seconds[maintenance] > 0
    off = row["TraitsFilter"]
    assert (found.sources[off], found.enabled[off], found.forms[off]) == ("gantt", False, "columnar")
    weighers = worker.scheduler.list_filters(context.new(), "weigher")
    assert [name for name, enabled in zip(weighers.names, weighers.enabled, strict=True) if enabled] == ["PowerWeigher"]
    with pytest.raises(errors.InvalidRequest):
        worker.scheduler.list_filters(context.new(), "driver")


def test_agents_are_asked_for_the_metric_that_it_reads(worker):
    answer = worker.report("h0", {"h0": hosts_report()}, sequence=2)
    assert "metrics.watts_free" in answer.wanted
