# SPDX-License-Identifier: Apache-2.0
"""Host state across partitions."""

import pytest

from rpcapi import errors
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.endpoints import encode
from scheduler_svc.host_state.documents import HostStates
from scheduler_svc.store.records import HostReport
from tests.support.scheduler.deployments import TWO_CELLS, PartitionedDeployment
from tests.support.scheduler.hosts import node


class TwoCells:
    def __init__(self):
        self.deployment = PartitionedDeployment(**TWO_CELLS)
        self.partitions = self.deployment.worker.partitions
        self.states = HostStates(self.partitions, NamespaceRegistry())


@pytest.fixture
def cells():
    return TwoCells()


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 100])
def test_pages_contain_each_document_of_all_partitions_once_by_name(cells, limit):
    documents, marker = [], None
    for _ in range(20):
        page, marker = cells.states.list("compute", marker, limit)
        documents += [(document.name, document.partition) for document in page]
        if marker is None:
            break
    assert documents == [("a1", "a"), ("b1", "b"), ("b2", "b"), ("m/1", "a"), ("n/1", "b"), ("z", "a")]


def test_documents_of_one_name_are_on_one_page(cells):
    cells.deployment.stores["b"].update_stats(
        "a1", HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes={"a1": node()})
    )
    page, marker = cells.states.list("compute", None, 1)
    assert [(document.name, document.partition) for document in page] == [("a1", "a"), ("a1", "b")]
    assert cells.states.list("compute", marker, 1)[0][0].name == "b1"


def test_listing_can_be_limited_to_an_existing_partition(cells):
    assert [document.name for document in cells.states.list("compute", None, 9, partition="b")[0]] == [
        "b1",
        "b2",
        "n/1",
    ]
    assert [document.name for document in cells.states.list("compute", None, 9, {"host": "n"})[0]] == ["n/1"]
    with pytest.raises(errors.UnknownPartition, match="'c'; configured here: a, b"):
        cells.states.list("compute", None, 9, partition="c")


def test_other_partitions_are_readable_while_one_is_unavailable(cells):
    cells.deployment.take_away("a")
    with pytest.raises(errors.StoreUnavailable):
        cells.states.list("compute", None, 9)
    assert len(cells.states.list("compute", None, 9, partition="b")[0]) == 3
    assert cells.states.get("service", "b1").partition == "b"
    with pytest.raises(errors.StoreUnavailable):
        cells.states.get("service", "a1")
    with pytest.raises(errors.StoreUnavailable):  # it may be there
        cells.states.get("service", "nobody")


def test_document_is_updated_in_its_partition(cells):
    document = cells.states.get("service", "b1")
    changed = cells.states.update("service", "b1", document.version, {"enabled": False}, writer="gantt")
    assert changed.partition == "b"
    assert cells.deployment.stores["b"].get_state("service", "b1")[1]["enabled"] is False
    with pytest.raises(errors.UnknownHost):
        cells.states.get("service", "nobody")


def test_document_is_created_in_requested_partition_and_only_once(cells):
    created = cells.states.update("service", "b1", 1, {"enabled": False}, writer="gantt", partition="b")
    assert created.partition == "b"
    with pytest.raises(errors.Conflict, match="in partition 'b' already"):
        cells.states.update("service", "b1", 0, {"enabled": True}, writer="gantt", partition="a")
    with pytest.raises(errors.UnknownHost):
        cells.states.update("service", "nobody", 0, {"enabled": True}, writer="gantt", partition="b")
    with pytest.raises(errors.UnknownPartition):
        cells.states.update("service", "b1", 0, {"enabled": True}, writer="gantt", partition="c")


def test_newest_record_of_a_decision_is_returned(cells):
    for number, name in enumerate("ab"):
        cells.deployment.wait(1)
        cells.deployment.stores[name].record_decision("r", {"number": number})
    partition, document = cells.partitions.find_decision("r")
    assert (partition.name, document["number"]) == ("b", 1)
    cells.deployment.stores["a"].record_decision("r", {"number": 2, "project": "one"})
    cells.deployment.wait(1)
    cells.deployment.stores["b"].record_decision("r", {"number": 3, "project": "two"})
    decisions = [cells.partitions.find_decision("r", project) for project in ("one", "two", "three")]
    assert [(partition.name, document["number"]) for partition, document in decisions] == [("a", 2), ("b", 3), ("b", 3)]
    with pytest.raises(errors.UnknownDecision):
        cells.partitions.find_decision("unheard of")


def test_partitions_are_listed_with_their_state(cells):
    cells.deployment.stores["b"].away = True
    listing = encode.partitions(list(cells.partitions))
    assert (listing.names, listing.available) == (["a", "b"], [True, False])
    assert (listing.hosts, listing.alive) == ([3, 3], [3, 3])
    assert listing.claims == [{"prepared": 0, "confirmed": 0}, None]
    places = [partition.replica.log_position for partition in cells.partitions]
    assert list(zip(listing.epochs, listing.positions, strict=True)) == places
