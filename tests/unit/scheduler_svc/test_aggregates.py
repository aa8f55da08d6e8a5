# SPDX-License-Identifier: Apache-2.0
"""Aggregates as their owner tells them, over all partitions."""

import pytest

from rpcapi import context, errors
from scheduler_svc.hosts.aggregates import ATTEMPTS, MAX_AGGREGATES, AggregateWriter
from scheduler_svc.hosts.deployment_states import DeploymentStates
from scheduler_svc.hosts.host_states import HostStates
from scheduler_svc.namespaces.registry import NamespaceRegistry
from tests.unit.scheduler_svc.deployments import PartitionedDeployment
from tests.unit.scheduler_svc.hosts import node
from tests.unit.scheduler_svc.workers import FakeTransportWorker

SSD = {"id": "ssd", "name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}}
KEPT = {key: value for key, value in SSD.items() if key != "id"}


class World:
    def __init__(self):
        self.deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
        self.partitions = self.deployment.worker.partitions
        self.registry = NamespaceRegistry()
        self.aggregates = AggregateWriter(self.partitions, self.registry.find("aggregate"))

    def update(self, *told, **more):
        self.aggregates.update([*told, *([{**SSD, **more}] if more else [])])

    def held(self, name="ssd"):
        """Return what each partition holds of an aggregate."""
        found = []
        for store in self.deployment.stores.values():
            documents = {called: document for called, _version, document in store.list_state("aggregate")[0]}
            found.append(documents.get(name))
        return found

    def positions(self):
        return [store.snapshot().position for store in self.deployment.stores.values()]


@pytest.fixture
def world():
    return World()


def test_every_partition_holds_the_same_document_whole(world):
    world.update(SSD)
    assert world.held() == [KEPT, KEPT]
    world.update({"id": "ssd", "hosts": ["h9"]})
    assert world.held() == [{"hosts": ["h9"]}] * 2


def test_the_name_is_the_id_where_there_is_none_and_names_are_canonical(world):
    world.update({"name": "az1", "hosts": [("h1", "n1"), "h1/n1", "h2"], "metadata": None})
    assert world.held("az1") == [{"name": "az1", "hosts": ["h1/n1", "h2"]}] * 2


def test_what_is_repeated_changes_nothing(world):
    for version in ({}, {"version": 3}):
        world.update({**SSD, **version})
        before = world.positions()
        world.update({**SSD, **version})
        assert world.positions() == before


@pytest.mark.parametrize("versions", [(1, 2, 10), ("2026-01-01", "2026-01-02", "2026-02-01")])
def test_messages_that_come_out_of_order_do_no_harm(world, versions):
    first, second, third = versions
    world.update(version=second, hosts=["new"])
    world.update(version=first, hosts=["old"])
    assert [one["hosts"] for one in world.held()] == [["new"]] * 2
    world.update(version=second, hosts=["another"])
    assert [one["hosts"] for one in world.held()] == [["new"]] * 2
    world.update(version=third, hosts=["newest"])
    assert [(one["hosts"], one["version"]) for one in world.held()] == [(["newest"], third)] * 2


def test_without_a_version_the_last_to_arrive_is_taken(world):
    world.update(version=7, hosts=["h1"])
    world.update(SSD)
    assert world.held() == [KEPT] * 2
    world.update(version=1, hosts=["h3"])
    assert [one["hosts"] for one in world.held()] == [["h3"]] * 2


def test_a_deleted_one_is_gone_and_may_be_deleted_again(world):
    world.update(SSD)
    world.aggregates.delete("ssd")
    world.aggregates.delete("ssd")
    assert world.held() == [None, None]


def test_older_news_does_not_bring_a_deleted_one_back(world):
    world.update(version=4, hosts=["h1"])
    world.aggregates.delete("ssd", 5)
    world.update(version=4, hosts=["h1"])
    assert world.held() == [{"hosts": [], "deleted": True, "version": 5}] * 2
    world.update(version=6, hosts=["h2"])
    world.aggregates.delete("ssd", 5)
    assert [one["hosts"] for one in world.held()] == [["h2"]] * 2


BAD = [
    ("ssd", errors.InvalidRequest, "an aggregate is a mapping"),
    ({"hosts": []}, errors.InvalidRequest, "'id', or else a 'name'"),
    ({"id": 7, "hosts": []}, errors.InvalidRequest, "'id', or else a 'name'"),
    ({"id": "a b", "hosts": []}, errors.InvalidName, "'a b'"),
    ({"id": "x", "hosts": ["a b"]}, errors.InvalidName, "'a b'"),
    ({"id": "x", "hosts": [7]}, errors.InvalidName, "neither a string"),
    ({"id": "x"}, errors.InvalidHostState, "'hosts' is a required property"),
    ({"id": "x", "hosts": "h1"}, errors.InvalidHostState, "not of type 'array'"),
    ({"id": "x", "hosts": [], "metadata": {"a": 1}}, errors.InvalidHostState, "metadata"),
    ({"id": "x", "hosts": [], "colour": "red"}, errors.InvalidHostState, "colour"),
    ({"id": "x", "hosts": [], "version": 1.5}, errors.InvalidHostState, "version"),
    ({"id": "x", "hosts": [], "deleted": True}, errors.InvalidRequest, "deleted by a call of its own"),
    ({"id": "x", "hosts": [f"{n:0>50}" for n in range(6000)]}, errors.InvalidRequest, "at most 262144 bytes"),
    ({"id": "x", "hosts": [f"{n}" for n in range(10_001)]}, errors.InvalidHostState, "hosts"),
    ({"id": "x", "hosts": [], "metadata": {"a": "\ud800"}}, errors.InvalidRequest, "Unicode"),
    ({"id": "fine", "hosts": []}, errors.InvalidRequest, "twice"),
    ({"id": "old", "hosts": [], "version": "new"}, errors.InvalidHostState, "one is a number and the other a text"),
]


@pytest.mark.parametrize(("told", "error", "why"), BAD)
def test_one_that_is_wrong_refuses_all(world, told, error, why):
    world.update({"id": "old", "hosts": [], "version": 1})
    before = world.positions()
    with pytest.raises(error, match=why):
        world.update({"id": "fine", "hosts": ["h1"]}, told)
    assert world.positions() == before


@pytest.mark.parametrize(("name", "version"), [("ssd", -1), ("ssd", ""), ("ssd", "x" * 65), ("a b", 1)])
def test_what_cannot_be_deleted_is_refused(world, name, version):
    with pytest.raises(errors.InvalidRequest):
        world.aggregates.delete(name, version)


def test_a_call_is_bounded(world):
    with pytest.raises(errors.InvalidRequest, match=f"at most {MAX_AGGREGATES} aggregates"):
        world.update(*({"id": f"x{n}", "hosts": []} for n in range(MAX_AGGREGATES + 1)))


def test_a_partition_that_is_away_is_told_of_and_the_others_have_it(world):
    world.deployment.take_away("a")
    with pytest.raises(errors.StoreUnavailable):
        world.update(SSD)
    world.deployment.stores["a"].away = False
    assert world.held() == [None, KEPT]
    world.update(SSD)
    assert world.held() == [KEPT, KEPT]


def test_two_who_write_at_once_are_put_in_order(world, monkeypatch):
    store = world.deployment.stores["a"]
    put, others = store.put_state, iter([3, 9])

    def overtaken(namespace, name, version, document):
        other = next(others, None)
        if other is not None:
            put(namespace, name, version, {"hosts": [], "version": other})
        return put(namespace, name, version, document)

    monkeypatch.setattr(store, "put_state", overtaken)
    world.update(version=5, hosts=["h1"])
    assert [one["version"] for one in world.held()] == [9, 5]


def test_who_never_gets_a_turn_is_told(world, monkeypatch):
    asked = []

    def refuse(*_given):
        asked.append(1)
        raise errors.VersionConflict(what="aggregate", version=2, expected=1)

    monkeypatch.setattr(world.deployment.stores["a"], "put_state", refuse)
    with pytest.raises(errors.StoreUnavailable, match="overtake each other"):
        world.update(SSD)
    assert len(asked) == ATTEMPTS and world.held() == [None, KEPT]


def test_of_several_partitions_no_single_document_is_changed(world):
    states = {each.name: HostStates(each.store, world.registry) for each in world.partitions}
    deployed = DeploymentStates(world.partitions, states)
    world.update(SSD)
    with pytest.raises(errors.InvalidRequest, match="'gantt aggregate'"):
        deployed.update("aggregate", "ssd", 0, {"hosts": []}, writer="gantt")
    with pytest.raises(errors.InvalidRequest, match="'gantt aggregate'"):
        deployed.delete("aggregate", "ssd", 0, writer="gantt")
    assert deployed.get("aggregate", "ssd").state.document == KEPT


def test_over_the_bus():
    worker = FakeTransportWorker()
    worker.service.start()
    try:
        worker.scheduler.update_aggregates(context.new(), [SSD])
        assert worker.scheduler.get_host_state(context.new(), "aggregate", "ssd").document == KEPT
        with pytest.raises(errors.InvalidHostState):
            worker.scheduler.update_aggregates(context.new(), [{"id": "x"}])
        with pytest.raises(errors.MalformedObject):
            worker.scheduler.update_aggregates(context.new(), "ssd")
        worker.scheduler.delete_aggregate(context.new(), "ssd")
        with pytest.raises(errors.UnknownHost):
            worker.scheduler.get_host_state(context.new(), "aggregate", "ssd")
    finally:
        worker.service.stop()
        worker.service.wait()
