# SPDX-License-Identifier: Apache-2.0
"""Requests made ready: hints looked up, the group's members known, prefilters run, all before hosts are looked at."""

import uuid
from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.model import names
from rpcapi.model.claims import GroupPolicy
from scheduler_svc.deciding.asked import SelectionCall
from scheduler_svc.deciding.intake import RequestRewriter
from scheduler_svc.prefilters import pipeline
from scheduler_svc.store.records import ClaimGroup
from tests.unit.scheduler_svc.deployments import PartitionedDeployment
from tests.unit.scheduler_svc.hosts import SMALL_REQUEST, node, request
from tests.unit.scheduler_svc.selecting import SelectorWorld, select, selection_call
from tests.unit.scheduler_svc.workers import FakeTransportWorker, node_report

NODES = ("a/1", "b/1", "c/1", "d/1")
PREFILTERS = pipeline.build()


@pytest.fixture(scope="module")
def worker():
    filters = ["SameHostFilter", "DifferentHostFilter", "MembershipFilter", "ResourcesFilter", "TraitsFilter"]
    made = FakeTransportWorker()
    made.conf.set_override("enabled_filters", filters, group="filter_scheduler")
    made.service.start()
    for name in NODES:
        made.join(names.host_of(name), {name: node_report()})
    yield made
    made.service.stop()
    made.service.wait()


def place(worker, count=1, **spec):
    uuids, given = worker.select(count, **spec)
    return uuids, hosts_of(given)


def hosts_of(given):
    return [names.canonical(given.names[at]) for at in given.chosen]


def test_hints_are_looked_up_where_the_claims_are(worker):
    (first,), (home,) = place(worker)
    assert place(worker, hints={"same_host": first})[1] == [home]
    assert place(worker, hints={"same_host": [first, str(uuid.uuid4())]})[1] == [home]
    assert place(worker, hints={"different_host": [first]})[1] != [home]


def test_an_instance_that_is_nowhere_keeps_nobody_away_and_draws_nobody(worker):
    nobody = str(uuid.uuid4())
    assert place(worker, hints={"different_host": [nobody]})[1][0] in NODES
    with pytest.raises(errors.NoValidHost, match="4 none of the instances of same_host"):
        place(worker, hints={"same_host": [nobody]})


def test_other_hints_travel_as_they_are():
    told = {"color": ["blue", {"deep": 1}], "same_host": str(uuid.uuid4())}
    taken = RequestRewriter(PartitionedDeployment(p={"a": node()}).worker.partitions, PREFILTERS).rewrite(request(hints=told))
    assert (taken.hints, taken.instance_hosts, taken.source_partition) == (told, {}, None)


def test_a_soft_group_is_kept_apart_or_together_as_long_as_there_is_room():
    for policy, hosts in ((GroupPolicy.SOFT_ANTI_AFFINITY, 4), (GroupPolicy.SOFT_AFFINITY, 1)):
        world = SelectorWorld()  # four hosts with room for four each
        selector, _ = world.selector()
        wish = request({"VCPU": 2}, group=ClaimGroup("g", policy, 1))
        # Given some that were placed one by one, and some together
        given = [select(selector, selection_call(first=at, asks=wish)).prepared[0].host for at in (0, 1)]
        given += [one.host for one in select(selector, selection_call(2, first=2, asks=wish)).prepared]
        assert len(set(given)) == hosts
        # Then a wish refuses nothing: hosts are shared, or a second one is begun
        select(selector, selection_call(4, first=4, asks=wish))
        assert len(world.live()) == 8


def test_the_moves_partition_is_told_by_a_hint_and_preferred(worker):
    made = PartitionedDeployment(east={"e": node()}, west={"w": node()}).worker
    taken = RequestRewriter(made.partitions, PREFILTERS).rewrite(request(hints={"source_partition": "west"}))
    assert taken.source_partition == "west"


@pytest.mark.parametrize("noticed", [True, False])
def test_where_a_partition_is_away_the_others_tell(noticed):
    deployment = PartitionedDeployment(east={"e": node()}, west={"w": node()})
    uuids = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(2)]
    for consumer, host in zip(uuids, "ew", strict=True):
        wish = replace(request(), id=consumer, force_hosts=(host,))
        deployment.worker.selector.select(context.new("p", "u"), SelectionCall(wish, [consumer]))
    take = RequestRewriter(deployment.worker.partitions, PREFILTERS).rewrite
    wish = request(hints={"different_host": uuids})
    assert take(wish).instance_hosts == dict(zip(uuids, "ew", strict=True))
    deployment.stores["east"].away = True
    if noticed:
        deployment.worker.follow()
    assert take(wish).instance_hosts == {uuids[1]: "w"}
    # Where nobody answers nothing is known, and nothing may be guessed
    deployment.stores["west"].away = True
    with pytest.raises(errors.StoreUnavailable):
        take(wish)


def test_a_refusal_of_a_prefilter_is_recorded_and_a_reload_takes_the_options_anew(worker):
    ctxt = context.new("poor", "u")
    worker.conf.set_override("limit_tenants_to_placement_aggregate", True, group="scheduler")
    worker.conf.set_override("placement_aggregate_required_for_tenants", True, group="scheduler")
    worker.service.reset()
    try:
        with pytest.raises(errors.NoValidHost, match="no aggregate is for project 'poor'"):
            worker.select(ctxt=ctxt)
        assert "project 'poor'" in worker.scheduler.explain(context.new(), ctxt.request_id).document["why"]
        # Given an aggregate of the project's, it is kept to it, and the record says so
        worker.scheduler.update_aggregates(
            context.new(), [{"id": "a1", "hosts": ["c"], "metadata": {"filter_tenant_id": "poor"}}]
        )
        assert worker.service._partition_set.partitions.own.replica.reach(worker.store.state.position, 10)
        ctxt = context.new("poor", "u")
        _, given = worker.select(ctxt=ctxt)
        assert hosts_of(given) == ["c/1"]
        spec = worker.scheduler.explain(context.new(), ctxt.request_id).document["spec"]
        assert spec["rewritten"] == {"require_tenant_aggregate": {"member_of": [["a1"]]}}
    finally:
        worker.conf.clear_override("limit_tenants_to_placement_aggregate", group="scheduler")
        worker.conf.clear_override("placement_aggregate_required_for_tenants", group="scheduler")
        worker.service.reset()
    assert worker.select(ctxt=context.new("other", "u"))[1].names


def test_what_flavor_and_image_contradict_each_other_in_is_refused_before_any_host_is_looked_at(worker):
    spec = {
        "resources": SMALL_REQUEST,
        "extra_specs": {"hw:virtio_packed_ring": "true"},
        "image": {"properties": {"hw_virtio_packed_ring": "false"}},
    }
    claims = len(worker.store.claims()[0])
    with pytest.raises(errors.InvalidSpec, match="they must agree"):
        worker.select(**spec)
    assert len(worker.store.claims()[0]) == claims
