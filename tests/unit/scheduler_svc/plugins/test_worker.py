# SPDX-License-Identifier: Apache-2.0
"""A worker whose filter from outside fails: what callers are told, what is recorded, and what a reload mends."""

import pytest

from rpcapi import context, errors, objects
from tests.unit.scheduler_svc.hosts import ASKED
from tests.unit.scheduler_svc.workers import Worker, hosts_report

BROKEN = """
    class BrokenFilter:
        def host_passes(self, host_state, spec_obj):
            return host_state.rack == "r1"
"""


@pytest.fixture
def worker(outside):
    outside.install(BROKEN, {"BrokenFilter": "BrokenFilter"})
    made = Worker()
    made.conf.set_override("enabled_filters", ["ComputeFilter", "BrokenFilter"], "filter_scheduler")
    made.service.start()
    made.join("h0", {"h0": hosts_report()})
    yield made
    made.service.stop()
    made.service.wait()


def spec():
    return objects.RequestSpec.of(resources=ASKED)


def test_the_caller_hears_of_the_plugin_and_so_does_who_asks_why(worker):
    ctxt = context.new("p", "u")
    why = "The filter 'BrokenFilter', a plugin of acme 1.2, failed: AttributeError: .*'rack'.*at host h0"
    with pytest.raises(errors.PluginFailed, match=why):
        worker.select(ctxt=ctxt)
    told = worker.scheduler.explain(context.new(), ctxt.request_id).document
    assert (told["outcome"], told["hosts"]) == ("refused", 0)
    assert "BrokenFilter" in told["why"]
    with pytest.raises(errors.PluginFailed):
        worker.scheduler.dry_run(context.new(), spec())
    assert worker.store.claims()[0] == []


def test_each_of_a_batch_hears_of_it_and_has_its_record(worker):
    ids = ["req-1", "req-2"]
    uuids = [["4b9d5b2e-0d7b-4a3f-9a53-3d8a6d9b1a01"], ["4b9d5b2e-0d7b-4a3f-9a53-3d8a6d9b1a02"]]
    asked = objects.SelectionRequests.of(request_ids=ids, specs=[spec(), spec()], uuids=uuids, attempts=[1, 1])
    assert worker.scheduler.select_batch(context.new(), asked).codes == ["plugin_failed"] * 2
    for each in ids:
        assert "BrokenFilter" in worker.scheduler.explain(context.new(), each).document["why"]


def test_a_reload_that_skips_it_serves_and_goes_on_counting(worker):
    with pytest.raises(errors.PluginFailed):
        worker.select()
    worker.conf.set_override("on_plugin_error", "skip", "filter_scheduler")
    worker.service.reset()
    worker.select()
    found = worker.scheduler.list_filters(context.new(), "filter")
    at = found.names.index("BrokenFilter")
    assert found.errors[at] == found.calls[at] >= 2
    assert found.last_errors[at].startswith("AttributeError")


def test_a_reload_with_a_plugin_that_cannot_be_loaded_leaves_all_as_it_was(worker, outside, caplog):
    outside.install("raise RuntimeError('not today')", {"LateFilter": "x"}, dist="late")
    worker.conf.set_override("enabled_filters", ["ComputeFilter", "LateFilter"], "filter_scheduler")
    worker.service.reset()
    assert "Filters and weighers stay as they were" in caplog.text
    assert "LateFilter, of late 1.2, cannot be loaded: RuntimeError: not today" in caplog.text
    with pytest.raises(errors.PluginFailed):
        worker.select()
