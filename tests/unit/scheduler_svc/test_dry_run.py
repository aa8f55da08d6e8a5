# SPDX-License-Identifier: Apache-2.0
"""A dry run decides as a call would, and changes nothing: not a claim, not the log, not the record of decisions."""

import pytest

from rpcapi import context, errors, objects
from rpcapi.model.claims import PARTITION_UNAVAILABLE
from tests.unit.scheduler_svc.hosts import SMALL_REQUEST
from tests.unit.scheduler_svc.workers import FakeTransportWorker, node_report


@pytest.fixture
def worker():
    made = FakeTransportWorker()
    made.service.start()
    for number in range(4):
        made.join(f"h{number}", {f"h{number}/n": node_report() | {"availability_zone": f"z{number % 2}"}})
    yield made
    made.service.stop()
    made.service.wait()


def dry(worker, count=1, ctxt=None, **spec):
    ctxt = ctxt or context.new("p", "u")
    return worker.scheduler.dry_run(ctxt, objects.RequestSpec.of(**({"resources": SMALL_REQUEST} | spec)), count)


def content(store):
    """Return all that a decision could change in a store."""
    return store.snapshot(), store.claims(), store.verify(), store.list_decisions(None, 100)


def test_it_names_the_hosts_that_the_call_then_takes(worker):
    ctxt = context.new("p", "u")
    told = dry(worker, 3, ctxt).document
    _, selections = worker.select(3, ctxt=ctxt)
    assert [selections.host(number) for number in range(3)] == [names[0] for names in told["candidates"]]
    assert [each["host"] for each in told["verdicts"]] == [names[0] for names in told["candidates"]]
    assert (told["outcome"], told["dry_run"], told["instances"], told["driver"]) == ("selected", True, 3, "filter")
    recorded = worker.scheduler.explain(context.new(), ctxt.request_id).document
    for key in ("seed", "hosts", "reasons", "best", "spec", "epoch", "position"):
        assert told[key] == recorded[key]


def test_it_changes_nothing(worker):
    worker.select()
    before = content(worker.store)
    dry(worker, 5)
    dry(worker, resources={"VCPU": 1000})
    dry(worker, group_id="g", group_policy="anti-affinity")
    assert content(worker.store) == before


def test_a_refusal_is_its_answer_with_reasons_and_hosts(worker):
    told = dry(worker, availability_zone="z1", resources={"VCPU": 1000}).document
    assert told["outcome"] == "refused"
    assert told["reasons"] == {"availability zone": 2, "not enough VCPU": 2}
    assert told["samples"] == {"availability zone": ["h0/n", "h2/n"], "not enough VCPU": ["h1/n", "h3/n"]}
    assert told["why"] == "No valid host: 2 availability zone, 2 not enough VCPU"
    assert (told["candidates"], told["verdicts"]) == ([], [])


def test_what_fell_is_told_where_it_would_be_selected_too(worker):
    told = dry(worker, availability_zone="z1").document
    assert told["outcome"] == "selected"
    assert told["samples"] == {"availability zone": ["h0/n", "h2/n"]}


def test_it_knows_where_a_server_group_is(worker):
    group = {"group_id": "g", "group_policy": "anti-affinity"}
    _, selections = worker.select(3, **group)
    taken = {selections.host(number) for number in range(3)}
    (names,) = dry(worker, **group).document["candidates"]
    assert set(names) == {f"h{number}/n" for number in range(4)} - taken
    assert dry(worker, 2, **group).document["outcome"] == "refused"


@pytest.mark.parametrize("count", [0, -1, 10**6])
def test_a_number_that_cannot_be_asked_for_is_refused(worker, count):
    with pytest.raises(errors.InvalidRequest, match="count must be an integer"):
        dry(worker, count)


def test_bad_input_is_refused_as_a_call_would_be(worker):
    with pytest.raises(errors.UnknownHost):
        dry(worker, force_hosts=["nowhere"])
    with pytest.raises(errors.UnknownDriver):
        dry(worker, driver="best")
    with pytest.raises(errors.InvalidSpec):
        dry(worker, resources={"VCPU": -1})


@pytest.fixture
def two():
    made = FakeTransportWorker(partitions=["default", "west"])
    made.service.start()
    for name, host in (("default", "h0"), ("west", "w0")):
        stats = {"incarnation": 1, "sequence": 1, "full": True, "partition": name}
        report = objects.StatsReport.of(nodes={host: node_report()}, **stats)
        answer = made.scheduler.update_resource_stats(context.new(), host, report)
        made.stores[name].audit(host, answer.epoch, [], 0)
        opened = made.service._partition_set.partitions.find(name)
        assert opened.replica.reach(made.stores[name].state.position, 10)
    yield made
    made.service.stop()
    made.service.wait()


def test_over_several_partitions_it_is_decided_where_the_call_would_be(two):
    seen = {dry(two, force_hosts=[host]).partition for host in ("h0", "w0")}
    assert seen == {"default", "west"}
    told = dry(two, resources={"VCPU": 1000}).document
    assert (told["outcome"], told["reasons"]) == ("refused", {"not enough VCPU": 2})
    before = [content(store) for store in two.stores.values()]
    dry(two, 3)
    assert [content(store) for store in two.stores.values()] == before


def test_a_group_in_one_partition_keeps_it_there(two):
    group = {"group_id": "g", "group_policy": "affinity", "resources": {"VCPU": 1}}
    _, selections = two.select(force_hosts=["w0"], **group)
    assert selections.partition == "west"
    told = dry(two, **group)
    assert (told.partition, told.document["candidates"]) == ("west", [["w0"]])


def test_a_partition_that_is_away_is_told_of_where_another_serves(two, monkeypatch):
    gone = two.service._partition_set.partitions.find("west").presence
    monkeypatch.setattr(type(gone), "away", property(lambda presence: presence is gone))
    told = dry(two).document
    assert told["outcome"] == "selected"
    assert told["samples"] == {PARTITION_UNAVAILABLE: ["w0"]}
