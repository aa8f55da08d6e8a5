# SPDX-License-Identifier: Apache-2.0
"""Aggregate updates and deletions in all partitions."""

import pytest

from rpcapi import context, errors
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.host_state.aggregates import ATTEMPTS, MAX_AGGREGATES, AggregateWriter
from scheduler_svc.host_state.documents import HostStates
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node
from tests.support.scheduler.workers import FakeTransportWorker

SSD = {"id": "ssd", "name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}}
STORED_SSD = {key: value for key, value in SSD.items() if key != "id"}


class AggregatesOfTwoCells:
    def __init__(self):
        self.deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
        self.partitions = self.deployment.worker.partitions
        self.registry = NamespaceRegistry()
        self.aggregates = AggregateWriter(self.partitions, self.registry.find("aggregate"))

    def update(self, *aggregates, **more):
        self.aggregates.update([*aggregates, *([{**SSD, **more}] if more else [])])

    def documents(self, name="ssd"):
        """Return the document of an aggregate in each partition."""
        result = []
        for store in self.deployment.stores.values():
            documents = {key: document for key, _version, document in store.list_state("aggregate")[0]}
            result.append(documents.get(name))
        return result

    def positions(self):
        return [store.snapshot().position for store in self.deployment.stores.values()]


@pytest.fixture
def cells():
    return AggregatesOfTwoCells()


def test_all_partitions_store_the_same_document(cells):
    cells.update(SSD)
    assert cells.documents() == [STORED_SSD, STORED_SSD]
    cells.update({"id": "ssd", "hosts": ["h9"]})
    assert cells.documents() == [{"hosts": ["h9"]}] * 2


def test_name_is_the_default_id_and_names_are_canonical(cells):
    cells.update({"name": "az1", "hosts": [("h1", "n1"), "h1/n1", "h2"], "metadata": None})
    assert cells.documents("az1") == [{"name": "az1", "hosts": ["h1/n1", "h2"]}] * 2


def test_spellings_of_a_uuid_are_one_aggregate(cells):
    uuid = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
    cells.update({"id": uuid.upper(), "hosts": ["h1"]})
    assert cells.documents(uuid) == [{"hosts": ["h1"]}] * 2
    with pytest.raises(errors.InvalidRequest, match="twice"):
        cells.aggregates.update([{"id": uuid, "hosts": []}, {"id": uuid.replace("-", ""), "hosts": []}])
    cells.aggregates.delete(uuid.upper())
    assert cells.documents(uuid) == [None] * 2


def test_repeated_update_changes_nothing(cells):
    for version in ({}, {"version": 3}):
        cells.update({**SSD, **version})
        before = cells.positions()
        cells.update({**SSD, **version})
        assert cells.positions() == before


@pytest.mark.parametrize("versions", [(1, 2, 10), ("2026-01-01", "2026-01-02", "2026-02-01")])
def test_update_with_older_version_is_ignored(cells, versions):
    first, second, third = versions
    cells.update(version=second, hosts=["new"])
    cells.update(version=first, hosts=["old"])
    assert [document["hosts"] for document in cells.documents()] == [["new"]] * 2
    cells.update(version=second, hosts=["another"])
    assert [document["hosts"] for document in cells.documents()] == [["new"]] * 2
    cells.update(version=third, hosts=["newest"])
    assert [(document["hosts"], document["version"]) for document in cells.documents()] == [(["newest"], third)] * 2


def test_update_without_version_always_applies(cells):
    cells.update(version=7, hosts=["h1"])
    cells.update(SSD)
    assert cells.documents() == [STORED_SSD] * 2
    cells.update(version=1, hosts=["h3"])
    assert [document["hosts"] for document in cells.documents()] == [["h3"]] * 2


def test_delete_is_idempotent(cells):
    cells.update(SSD)
    cells.aggregates.delete("ssd")
    cells.aggregates.delete("ssd")
    assert cells.documents() == [None, None]


def test_older_update_does_not_restore_a_deleted_aggregate(cells):
    cells.update(version=4, hosts=["h1"])
    cells.aggregates.delete("ssd", 5)
    cells.update(version=4, hosts=["h1"])
    assert cells.documents() == [{"hosts": [], "deleted": True, "version": 5}] * 2
    cells.update(version=6, hosts=["h2"])
    cells.aggregates.delete("ssd", 5)
    assert [document["hosts"] for document in cells.documents()] == [["h2"]] * 2


BAD = [
    ("ssd", errors.InvalidRequest, "an aggregate must be a mapping"),
    ({"hosts": []}, errors.InvalidRequest, "with an 'id' or a 'name'"),
    ({"id": 7, "hosts": []}, errors.InvalidRequest, "with an 'id' or a 'name'"),
    ({"id": "a b", "hosts": []}, errors.InvalidName, "'a b'"),
    ({"id": "x", "hosts": ["a b"]}, errors.InvalidName, "'a b'"),
    ({"id": "x", "hosts": [7]}, errors.InvalidName, "neither a string"),
    ({"id": "x"}, errors.InvalidHostState, "'hosts' is a required property"),
    ({"id": "x", "hosts": "h1"}, errors.InvalidHostState, "not of type 'array'"),
    ({"id": "x", "hosts": [], "metadata": {"a": 1}}, errors.InvalidHostState, "metadata"),
    ({"id": "x", "hosts": [], "colour": "red"}, errors.InvalidHostState, "colour"),
    ({"id": "x", "hosts": [], "version": 1.5}, errors.InvalidHostState, "version"),
    ({"id": "x", "hosts": [], "deleted": True}, errors.InvalidRequest, "delete it with delete_aggregate"),
    ({"id": "x", "hosts": [f"{n:0>150}" for n in range(9000)]}, errors.InvalidRequest, "at most 1048576 bytes"),
    ({"id": "x", "hosts": [f"{n}" for n in range(10_001)]}, errors.InvalidHostState, "hosts"),
    ({"id": "x", "hosts": [], "metadata": {"a": "\ud800"}}, errors.InvalidRequest, "Unicode"),
    ({"id": "fine", "hosts": []}, errors.InvalidRequest, "twice"),
    ({"id": "old", "hosts": [], "version": "new"}, errors.InvalidHostState, "one is a number, the other a string"),
]


@pytest.mark.parametrize(("aggregate", "error", "why"), BAD)
def test_one_invalid_aggregate_rejects_the_whole_update(cells, aggregate, error, why):
    cells.update({"id": "old", "hosts": [], "version": 1})
    before = cells.positions()
    with pytest.raises(error, match=why):
        cells.update({"id": "fine", "hosts": ["h1"]}, aggregate)
    assert cells.positions() == before


@pytest.mark.parametrize(("name", "version"), [("ssd", -1), ("ssd", ""), ("ssd", "x" * 65), ("a b", 1)])
def test_invalid_deletion_is_refused(cells, name, version):
    with pytest.raises(errors.InvalidRequest):
        cells.aggregates.delete(name, version)


def test_number_of_aggregates_per_call_is_limited(cells):
    with pytest.raises(errors.InvalidRequest, match=f"at most {MAX_AGGREGATES} aggregates"):
        cells.update(*({"id": f"x{n}", "hosts": []} for n in range(MAX_AGGREGATES + 1)))


def test_unavailable_partition_raises_and_the_others_are_updated(cells):
    cells.deployment.take_away("a")
    with pytest.raises(errors.StoreUnavailable):
        cells.update(SSD)
    cells.deployment.stores["a"].away = False
    assert cells.documents() == [None, STORED_SSD]
    cells.update(SSD)
    assert cells.documents() == [STORED_SSD, STORED_SSD]


def test_concurrent_updates_apply_in_version_order(cells, monkeypatch):
    store = cells.deployment.stores["a"]
    put, others = store.put_state, iter([3, 9])

    def put_after_other(namespace, name, version, document):
        other = next(others, None)
        if other is not None:
            put(namespace, name, version, {"hosts": [], "version": other})
        return put(namespace, name, version, document)

    monkeypatch.setattr(store, "put_state", put_after_other)
    cells.update(version=5, hosts=["h1"])
    assert [document["version"] for document in cells.documents()] == [9, 5]


def test_update_gives_up_after_repeated_conflicts(cells, monkeypatch):
    calls = []

    def refuse(*_args):
        calls.append(1)
        raise errors.VersionConflict(what="aggregate", version=2, expected=1)

    monkeypatch.setattr(cells.deployment.stores["a"], "put_state", refuse)
    with pytest.raises(errors.StoreUnavailable, match="too many concurrent updates"):
        cells.update(SSD)
    assert len(calls) == ATTEMPTS and cells.documents() == [None, STORED_SSD]


def test_single_document_updates_are_refused_with_several_partitions(cells):
    deployed = HostStates(cells.partitions, cells.registry)
    cells.update(SSD)
    with pytest.raises(errors.InvalidRequest, match="'gantt aggregate'"):
        deployed.update("aggregate", "ssd", 0, {"hosts": []}, writer="gantt")
    with pytest.raises(errors.InvalidRequest, match="'gantt aggregate'"):
        deployed.delete("aggregate", "ssd", 0, writer="gantt")
    assert deployed.get("aggregate", "ssd").document == STORED_SSD


def test_aggregates_over_rpc():
    worker = FakeTransportWorker()
    worker.service.start()
    try:
        worker.scheduler.update_aggregates(context.new(), [SSD])
        assert worker.scheduler.get_host_state(context.new(), "aggregate", "ssd").document == STORED_SSD
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
