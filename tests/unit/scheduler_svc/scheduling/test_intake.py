# SPDX-License-Identifier: Apache-2.0
"""Preparation of requests before ranking: hints and prefilters."""

import uuid
from dataclasses import replace
from functools import partial

import pytest

from rpcapi import context, errors
from rpcapi.resources import names
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.intake import RequestRewriter
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import SMALL_REQUEST, node, request
from tests.support.scheduler.replica_views import filter_driver
from tests.support.scheduler.workers import FakeTransportWorker, node_report

NODES = ("a/1", "b/1", "c/1", "d/1")
POLICY = SchedulingPolicy(filter_driver(), prefilters=pipeline.build())


@pytest.fixture(scope="module")
def worker():
    filters = ["SameHostFilter", "DifferentHostFilter", "MembershipFilter", "ResourcesFilter", "TraitsFilter"]
    worker_ = FakeTransportWorker()
    worker_.conf.set_override("enabled_filters", filters, group="filter_scheduler")
    worker_.service.start()
    for name in NODES:
        worker_.join(names.host_of(name), {name: node_report()})
    yield worker_
    worker_.service.stop()
    worker_.service.wait()


def place(worker, count=1, **spec):
    uuids, selections = worker.select(count, **spec)
    return uuids, hosts_of(selections)


def hosts_of(selections):
    return [names.canonical(selections.names[at]) for at in selections.chosen]


def test_hinted_instances_are_located_by_their_claims(worker):
    (first,), (home,) = place(worker)
    assert place(worker, hints={"same_host": first})[1] == [home]
    assert place(worker, hints={"same_host": [first, str(uuid.uuid4())]})[1] == [home]
    assert place(worker, hints={"different_host": [first]})[1] != [home]


def test_hint_with_an_unknown_instance_neither_excludes_nor_matches_hosts(worker):
    unknown = str(uuid.uuid4())
    assert place(worker, hints={"different_host": [unknown]})[1][0] in NODES
    with pytest.raises(errors.NoValidHost, match="4 none of the instances of same_host"):
        place(worker, hints={"same_host": [unknown]})


def test_other_hints_are_passed_unchanged():
    hints = {"color": ["blue", {"deep": 1}], "same_host": str(uuid.uuid4())}
    rewritten = RequestRewriter(PartitionedDeployment(p={"a": node()}).worker.partitions).rewrite(
        POLICY, request(hints=hints)
    )
    assert (rewritten.hints, rewritten.decision.instance_hosts, rewritten.source_partition) == (hints, {}, None)


@pytest.mark.parametrize("noticed", [True, False])
def test_hints_are_resolved_by_available_partitions(noticed):
    deployment = PartitionedDeployment(east={"e": node()}, west={"w": node()})
    uuids = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(2)]
    for consumer, host in zip(uuids, "ew", strict=True):
        scheduling_request = replace(request(), id=consumer, force_hosts=(host,))
        deployment.worker.scheduler.select(POLICY, SelectionCall(context.new("p", "u"), scheduling_request, [consumer]))
    rewrite = partial(RequestRewriter(deployment.worker.partitions).rewrite, POLICY)
    scheduling_request = request(hints={"different_host": uuids})
    assert rewrite(scheduling_request).decision.instance_hosts == dict(zip(uuids, "ew", strict=True))
    deployment.stores["east"].away = True
    if noticed:
        deployment.worker.follow()
    assert rewrite(scheduling_request).decision.instance_hosts == {uuids[1]: "w"}
    # Without any available partition the request fails
    deployment.stores["west"].away = True
    with pytest.raises(errors.StoreUnavailable):
        rewrite(scheduling_request)


def test_prefilter_refusal_is_recorded_and_reload_applies_new_options(worker):
    ctxt = context.new("poor", "u")
    worker.conf.set_override("limit_tenants_to_placement_aggregate", True, group="scheduler")
    worker.conf.set_override("placement_aggregate_required_for_tenants", True, group="scheduler")
    worker.service.reset()
    try:
        with pytest.raises(errors.NoValidHost, match="no aggregate for project 'poor'"):
            worker.select(ctxt=ctxt)
        assert "project 'poor'" in worker.scheduler.explain(context.new(), ctxt.request_id).document["why"]
        # Given an aggregate of the project, the request is limited to it, and the record has that
        worker.scheduler.update_aggregates(
            context.new(), [{"id": "a1", "hosts": ["c"], "metadata": {"filter_tenant_id": "poor"}}]
        )
        assert worker.service._worker.scheduling.partitions.own.replica.reach(worker.store.state.position, 10)
        ctxt = context.new("poor", "u")
        _, selections = worker.select(ctxt=ctxt)
        assert hosts_of(selections) == ["c/1"]
        spec = worker.scheduler.explain(context.new(), ctxt.request_id).document["spec"]
        assert spec["rewritten"] == {"require_tenant_aggregate": {"member_of": [["a1"]]}}
    finally:
        worker.conf.clear_override("limit_tenants_to_placement_aggregate", group="scheduler")
        worker.conf.clear_override("placement_aggregate_required_for_tenants", group="scheduler")
        worker.service.reset()
    assert worker.select(ctxt=context.new("other", "u"))[1].names


def test_contradicting_flavor_and_image_are_refused_before_ranking(worker):
    spec = {
        "resources": SMALL_REQUEST,
        "extra_specs": {"hw:virtio_packed_ring": "true"},
        "image": {"properties": {"hw_virtio_packed_ring": "false"}},
    }
    claims = len(worker.store.claims()[0])
    with pytest.raises(errors.InvalidSpec, match="must be equal"):
        worker.select(**spec)
    assert len(worker.store.claims()[0]) == claims
