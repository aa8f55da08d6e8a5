# SPDX-License-Identifier: Apache-2.0
"""A worker over two partitions, over the bus: topics, reports, listings, and a start without one of them."""

import pytest

from rpcapi import bus, claims, context, errors, objects
from tests.unit.scheduler_svc.deployments import FragileStore
from tests.unit.scheduler_svc.workers import FakeTransportWorker, node_report

SECOND = "second"


class Cells(FakeTransportWorker):
    """A worker over ``default`` and ``second``, and a client of the second one's claims."""

    def __init__(self, **options):
        super().__init__(partitions=["default", SECOND], **options)
        self.second = claims.ClaimsAPI(self.conf, bus.get_transport(self.conf), SECOND)

    def tell(self, host, partition):
        """Report and audit in a partition, and wait until the worker has read it."""
        stats = objects.StatsReport.of(
            incarnation=1, sequence=1, full=True, nodes={host: node_report()}, partition=partition
        )
        answer = self.scheduler.update_resource_stats(context.new(), host, stats)
        client = self.claims if partition == "default" else self.second
        empty = {key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")}
        client.audit_host(context.new(), objects.AuditReport.of(host=host, epoch=answer.epoch, **empty))
        replica = self.service._partition_set.partitions.find(partition).replica
        assert replica.reach(self.stores[partition].state.position, 10)


# First of all: two workers of one process would share the fake bus.
def test_a_worker_starts_with_the_partitions_that_answer_and_takes_the_others_when_they_come():
    made = Cells()
    late = made.stores[SECOND] = FragileStore(SECOND, lambda: 1_000_000)
    late.away = True
    made.service.start()
    try:
        made.tell("here", "default")
        assert made.select(force_hosts=["here"])[1].partition == "default"
        with pytest.raises(errors.StoreUnavailable):
            made.second.verify(context.new())
        late.away = False
        made.tell("there", SECOND)
        assert made.select(force_hosts=["there"])[1].partition == SECOND
    finally:
        made.service.stop()
        made.service.wait()


@pytest.fixture(scope="module")
def cells():
    made = Cells()
    made.service.start()
    made.tell("here", "default")
    made.tell("there", SECOND)
    yield made
    made.service.stop()
    made.service.wait()


def test_a_request_is_served_and_carried_on_in_the_partition_of_its_host(cells):
    uuids, selections = cells.select(2, force_hosts=["there"])
    assert selections.partition == SECOND
    refs = cells.refs(uuids)
    assert cells.second.confirm_claims(context.new(), "there", refs).answers == ["confirmed"] * 2
    assert cells.claims.list_claims(context.new(), host="there").claims == []
    assert cells.second.release_claims(context.new(), "there", refs).answers == ["released"] * 2


def test_what_is_known_of_each_partition_is_told(cells):
    found = cells.scheduler.list_partitions(context.new())
    assert (found.names, found.available) == (["default", SECOND], [True, True])
    assert (found.hosts, found.alive) == ([1, 1], [1, 1])
    assert found.epochs == [cells.stores[name].state.epoch for name in ("default", SECOND)]


def test_documents_are_found_and_listed_in_all_partitions(cells):
    page = cells.scheduler.list_host_state(context.new(), "compute")
    assert [(state.name, state.partition) for state in page.states] == [("here", "default"), ("there", SECOND)]
    page = cells.scheduler.list_host_state(context.new(), "compute", partition=SECOND)
    assert [state.name for state in page.states] == ["there"]
    state = cells.scheduler.get_host_state(context.new(), "service", "there")
    assert state.partition == SECOND


def test_a_decision_is_explained_where_it_was_made(cells):
    ctxt = context.new()
    cells.select(1, ctxt, force_hosts=["there"])
    assert cells.scheduler.explain(context.new(), ctxt.request_id).partition == SECOND
    page = cells.scheduler.list_decisions(context.new(), partition=SECOND)
    assert ctxt.request_id in [one.request_id for one in page.decisions]


@pytest.mark.parametrize(
    "ask",
    [
        lambda cells: cells.tell("lost", "third"),
        lambda cells: cells.scheduler.list_host_state(context.new(), "compute", partition="third"),
        lambda cells: cells.scheduler.list_decisions(context.new(), partition="third"),
    ],
    ids=["report", "documents", "decisions"],
)
def test_a_partition_that_there_is_not_is_a_typed_error(cells, ask):
    with pytest.raises(errors.UnknownPartition, match="'third' here; configured: default, second"):
        ask(cells)
