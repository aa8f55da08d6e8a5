# SPDX-License-Identifier: Apache-2.0
"""A scheduler worker with a failing external filter: errors for callers, decision records, and reloads."""

import pytest

from rpcapi import context, errors, objects
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report

BROKEN = """
    class BrokenFilter:
        def host_passes(self, host_state, spec_obj):
            return host_state.rack == "r1"
"""


@pytest.fixture
def worker(plugin_installer):
    plugin_installer.install(BROKEN, {"BrokenFilter": "BrokenFilter"})
    worker = FakeTransportWorker()
    worker.conf.set_override("enabled_filters", ["ComputeFilter", "BrokenFilter"], "filter_scheduler")
    worker.service.start()
    worker.join("h0", {"h0": node_report()})
    yield worker
    worker.service.stop()
    worker.service.wait()


def spec():
    return objects.RequestSpec.of(resources=SMALL_REQUEST)


def test_failing_plugin_is_named_in_the_error_and_in_explain(worker):
    ctxt = context.new("p", "u")
    why = "Plugin filter 'BrokenFilter' of acme 1.2 failed: AttributeError: .*'rack'.*at host h0"
    with pytest.raises(errors.PluginFailed, match=why):
        worker.select(ctxt=ctxt)
    record = worker.scheduler.explain(context.new(), ctxt.request_id).document
    assert (record["outcome"], record["hosts"]) == ("refused", 0)
    assert "BrokenFilter" in record["why"]
    with pytest.raises(errors.PluginFailed):
        worker.scheduler.dry_run(context.new(), spec())
    assert worker.store.claims()[0] == []


def test_every_request_of_a_batch_fails_and_is_recorded(worker):
    ids = ["req-1", "req-2"]
    uuids = [["4b9d5b2e-0d7b-4a3f-9a53-3d8a6d9b1a01"], ["4b9d5b2e-0d7b-4a3f-9a53-3d8a6d9b1a02"]]
    requests = objects.SelectionRequests.of(request_ids=ids, specs=[spec(), spec()], uuids=uuids, attempts=[1, 1])
    assert worker.scheduler.select_batch(context.new(), requests).codes == ["plugin_failed"] * 2
    for request_id in ids:
        assert "BrokenFilter" in worker.scheduler.explain(context.new(), request_id).document["why"]


def test_reload_with_skip_serves_requests_and_keeps_counting_errors(worker):
    with pytest.raises(errors.PluginFailed):
        worker.select()
    worker.conf.set_override("on_plugin_error", "skip", "filter_scheduler")
    worker.service.reset()
    worker.select()
    listing = worker.scheduler.list_filters(context.new(), "filter")
    index = listing.names.index("BrokenFilter")
    assert listing.errors[index] == listing.calls[index] >= 2
    assert listing.last_errors[index].startswith("AttributeError")


def test_reload_with_unloadable_plugin_changes_nothing(worker, plugin_installer):
    plugin_installer.install("raise RuntimeError('not today')", {"LateFilter": "x"}, dist="late")
    worker.conf.set_override("enabled_filters", ["ComputeFilter", "LateFilter"], "filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match=r"cannot load LateFilter of late 1.2: RuntimeError: not today"):
        worker.service.reset()
    with pytest.raises(errors.PluginFailed):
        worker.select()
