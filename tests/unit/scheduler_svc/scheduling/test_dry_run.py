# SPDX-License-Identifier: Apache-2.0
"""A dry run decides as a call does, and changes nothing: no claims, no log entries, no decision records."""

import pytest

from rpcapi import context, errors, objects
from rpcapi.resources.transient import PARTITION_JUST_AWAY
from scheduler_svc.endpoints import decode
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report


@pytest.fixture
def worker():
    worker_ = FakeTransportWorker()
    worker_.service.start()
    for number in range(4):
        worker_.join(f"h{number}", {f"h{number}/n": node_report() | {"availability_zone": f"z{number % 2}"}})
    yield worker_
    worker_.service.stop()
    worker_.service.wait()


def dry(worker, count=1, ctxt=None, **spec):
    ctxt = ctxt or context.new("p", "u")
    return worker.scheduler.dry_run(ctxt, objects.RequestSpec.of(**({"resources": SMALL_REQUEST} | spec)), count)


def content(store):
    """Return everything that a decision can change in a store."""
    return store.snapshot(), store.claims(), store.verify(), store.list_decisions(None, 100)


def test_dry_run_names_the_hosts_that_the_call_then_selects(worker):
    ctxt = context.new("p", "u")
    document = dry(worker, 3, ctxt).document
    _, selections = worker.select(3, ctxt=ctxt)
    assert [selections.host(number) for number in range(3)] == [names[0] for names in document["candidates"]]
    assert [verdict["host"] for verdict in document["verdicts"]] == [names[0] for names in document["candidates"]]
    assert (document["outcome"], document["dry_run"], document["instances"], document["driver"]) == (
        "selected",
        True,
        3,
        "filter",
    )
    recorded = worker.scheduler.explain(context.new(), ctxt.request_id).document
    for key in ("seed", "hosts", "reasons", "best", "spec", "epoch", "position"):
        assert document[key] == recorded[key]


def test_dry_run_changes_nothing_in_the_store(worker):
    worker.select()
    before = content(worker.store)
    dry(worker, 5)
    dry(worker, resources={"VCPU": 1000})
    dry(worker, group_id="g", group_policy="anti-affinity")
    assert content(worker.store) == before


def test_refused_dry_run_has_reasons_and_sample_hosts(worker):
    document = dry(worker, availability_zone="z1", resources={"VCPU": 1000}).document
    assert document["outcome"] == "refused"
    assert document["reasons"] == {"availability zone": 2, "not enough VCPU": 2}
    assert document["samples"] == {"availability zone": ["h0/n", "h2/n"], "not enough VCPU": ["h1/n", "h3/n"]}
    assert document["why"] == "No valid host: 2 availability zone, 2 not enough VCPU"
    assert (document["candidates"], document["verdicts"]) == ([], [])


def test_selected_dry_run_names_rejected_hosts_too(worker):
    document = dry(worker, availability_zone="z1").document
    assert document["outcome"] == "selected"
    assert document["samples"] == {"availability zone": ["h0/n", "h2/n"]}


def test_dry_run_respects_server_group_members(worker):
    group = {"group_id": "g", "group_policy": "anti-affinity"}
    _, selections = worker.select(3, **group)
    member_hosts = {selections.host(number) for number in range(3)}
    (names,) = dry(worker, **group).document["candidates"]
    assert set(names) == {f"h{number}/n" for number in range(4)} - member_hosts
    assert dry(worker, 2, **group).document["outcome"] == "refused"


@pytest.mark.parametrize("count", [0, -1, 10**6])
def test_invalid_count_is_refused_by_dry_run(worker, count):
    with pytest.raises(errors.InvalidRequest, match="count must be an integer"):
        dry(worker, count)


def test_invalid_request_is_refused_by_dry_run(worker):
    with pytest.raises(errors.UnknownHost):
        dry(worker, force_hosts=["nowhere"])
    with pytest.raises(errors.UnknownDriver):
        dry(worker, driver="best")
    with pytest.raises(errors.InvalidSpec):
        dry(worker, resources={"VCPU": -1})


@pytest.fixture
def two():
    worker = FakeTransportWorker(partitions=["default", "west"])
    worker.service.start()
    for name, host in (("default", "h0"), ("west", "w0")):
        stats = {"incarnation": 0, "register": True, "agent": "a", "sequence": 1, "full": True, "partition": name}
        report = objects.StatsReport.of(nodes={host: node_report()}, **stats)
        answer = worker.scheduler.update_resource_stats(context.new(), host, report)
        worker.stores[name].audit(host, answer.epoch, [], 0)
        opened = worker.service._worker.scheduling.partitions.find(name)
        assert opened.replica.reach(worker.stores[name].state.position, 10)
    yield worker
    worker.service.stop()
    worker.service.wait()


def test_dry_run_selects_the_partition_that_the_call_would_use(two):
    partitions = {dry(two, force_hosts=[host]).partition for host in ("h0", "w0")}
    assert partitions == {"default", "west"}
    document = dry(two, resources={"VCPU": 1000}).document
    assert (document["outcome"], document["reasons"]) == ("refused", {"not enough VCPU": 2})
    before = [content(store) for store in two.stores.values()]
    dry(two, 3)
    assert [content(store) for store in two.stores.values()] == before


def test_dry_run_stays_in_the_partition_of_the_server_group(two):
    group = {"group_id": "g", "group_policy": "affinity", "resources": {"VCPU": 1}}
    _, selections = two.select(force_hosts=["w0"], **group)
    assert selections.partition == "west"
    document = dry(two, **group)
    assert (document.partition, document.document["candidates"]) == ("west", [["w0"]])


@pytest.mark.parametrize(
    ("count", "spec"),
    [
        (2, {"resources": {"VCPU": 8}, "group_id": "g", "group_policy": "affinity"}),  # the group is in "west"
        (6, {"resources": {"VCPU": 2}}),  # fits into both partitions together, but into neither alone
    ],
)
def test_refused_dry_run_gives_the_reasons_of_the_call(two, count, spec):
    two.select(force_hosts=["w0"], resources={"VCPU": 1}, group_id="g", group_policy="affinity")
    dry_run = dry(two, count, **spec).document
    with pytest.raises(errors.NoValidHost) as refusal:
        two.select(count, **spec)
    assert (dry_run["why"], dry_run["outcome"], dry_run["candidates"]) == (refusal.value.sentence, "refused", [])


def test_dry_run_reports_hosts_of_an_unavailable_partition(two, monkeypatch):
    presence_ = two.service._worker.scheduling.partitions.find("west").presence
    monkeypatch.setattr(type(presence_), "away", property(lambda presence: presence is presence_))
    document = dry(two).document
    assert document["outcome"] == "selected"
    assert document["samples"] == {PARTITION_JUST_AWAY: ["w0"]}


@pytest.mark.parametrize("hint", ["same_host", "different_host"])
def test_hints_of_a_client_of_one_project_name_its_instances_only(worker, hint):
    """Called without the bus: the dispatcher sets the project of a sender."""
    (own,), _ = worker.select(ctxt=context.new("one"))
    (other,), _ = worker.select(ctxt=context.new("two"))
    dry_run = worker.service._worker.scheduling.dry_run

    def decide(*instances, project="one"):
        ctxt = context.new("one")
        ctxt.sender_project = project
        spec = objects.RequestSpec.of(resources=SMALL_REQUEST, hints={hint: list(instances)})
        return dry_run.decide(ctxt, decode.request(ctxt, spec), 1)[1]

    assert decide(own)["outcome"] == decide(own, other, project=None)["outcome"] == "selected"
    for instances in ([other], [own, other]):
        with pytest.raises(errors.CallerRefused, match=f"a hint names instance {other} of another project"):
            decide(*instances)


def test_dry_run_of_a_rebuild_checks_only_what_depends_on_the_image(worker):
    # Given a host that is full, and too small besides
    spec = objects.RequestSpec.of(resources={"VCPU": 1000}, force_hosts=["h1/n"], image={"id": "i"})
    document = worker.scheduler.dry_run(context.new(), spec, 1, "rebuild").document
    assert (document["outcome"], document["candidates"]) == ("selected", [["h1/n"]])
    image = {"id": "i", "properties": {"hw_architecture": "vax"}}
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, force_hosts=["h1/n"], image=image)
    document = worker.scheduler.dry_run(context.new(), spec, 1, "rebuild").document
    assert (document["outcome"], sum(document["reasons"].values())) == ("refused", 4)
    assert document["why"].startswith("No valid host: ")


@pytest.mark.parametrize("scope", ["forced", "", "other", None, 7])
def test_unknown_scope_is_refused(worker, scope):
    with pytest.raises(errors.InvalidRequest):
        worker.scheduler.dry_run(context.new(), objects.RequestSpec.of(resources={"VCPU": 1}), 1, scope)
