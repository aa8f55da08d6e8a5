# SPDX-License-Identifier: Apache-2.0
"""A worker over two partitions, over the bus: topics, reports, listings, and a start without one of them."""

import pytest

from rpcapi import context, errors, objects
from rpcapi.clients import claims
from rpcapi.messaging import bus
from tests.support.scheduler.deployments import FragileStore
from tests.support.scheduler.workers import FakeTransportWorker, node_report

SECOND = "second"


class Cells(FakeTransportWorker):
    """A worker over ``default`` and ``second``, and a client of the second one's claims."""

    def __init__(self, **options):
        super().__init__(partitions=["default", SECOND], **options)
        self.second = claims.ClaimsAPI(self.conf, bus.get_transport(self.conf), SECOND)

    def report(self, host, partition):
        """Report and audit a host in a partition, and wait until the worker has applied it."""
        stats = objects.StatsReport.of(
            incarnation=0,
            register=True,
            agent="a",
            sequence=1,
            full=True,
            nodes={host: node_report()},
            partition=partition,
        )
        answer = self.scheduler.update_resource_stats(context.new(), host, stats)
        client = self.claims if partition == "default" else self.second
        empty = {key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")}
        client.audit_host(context.new(), objects.AuditReport.of(host=host, epoch=answer.epoch, **empty))
        replica = self.service._worker.scheduling.partitions.find(partition).replica
        assert replica.reach(self.stores[partition].state.position, 10)


# First of all: two workers of one process would share the fake bus.
def test_worker_starts_with_available_partitions_and_loads_others_later():
    created = Cells()
    late = created.stores[SECOND] = FragileStore(SECOND, lambda: 1_000_000)
    late.away = True
    created.service.start()
    try:
        created.report("here", "default")
        assert created.select(force_hosts=["here"])[1].partition == "default"
        with pytest.raises(errors.StoreUnavailable):
            created.second.verify(context.new())
        late.away = False
        created.report("there", SECOND)
        assert created.select(force_hosts=["there"])[1].partition == SECOND
    finally:
        created.service.stop()
        created.service.wait()


@pytest.fixture(scope="module")
def cells():
    created = Cells()
    created.service.start()
    created.report("here", "default")
    created.report("there", SECOND)
    yield created
    created.service.stop()
    created.service.wait()


def test_claims_are_processed_in_the_partition_of_the_host(cells):
    uuids, selections = cells.select(2, force_hosts=["there"])
    assert selections.partition == SECOND
    refs = cells.refs(uuids)
    assert cells.second.confirm_claims(context.new(), "there", refs).answers == ["confirmed"] * 2
    assert cells.claims.list_claims(context.new(), host="there").claims == []
    assert cells.second.release_claims(context.new(), "there", refs).answers == ["released"] * 2


def test_partitions_are_listed_with_their_state(cells):
    documents = cells.scheduler.list_partitions(context.new())
    assert (documents.names, documents.available) == (["default", SECOND], [True, True])
    assert (documents.hosts, documents.alive) == ([1, 1], [1, 1])
    assert documents.epochs == [cells.stores[name].state.epoch for name in ("default", SECOND)]


def test_documents_of_all_partitions_are_listed(cells):
    page = cells.scheduler.list_host_state(context.new(), "compute")
    assert [(state.name, state.partition) for state in page.states] == [("here", "default"), ("there", SECOND)]
    page = cells.scheduler.list_host_state(context.new(), "compute", partition=SECOND)
    assert [state.name for state in page.states] == ["there"]
    state = cells.scheduler.get_host_state(context.new(), "service", "there")
    assert state.partition == SECOND


def test_decision_is_explained_from_its_partition(cells):
    ctxt = context.new()
    cells.select(1, ctxt, force_hosts=["there"])
    assert cells.scheduler.explain(context.new(), ctxt.request_id).partition == SECOND
    page = cells.scheduler.list_decisions(context.new(), partition=SECOND)
    assert ctxt.request_id in [worker.request_id for worker in page.decisions]


@pytest.mark.parametrize(
    "ask",
    [
        lambda cells: cells.report("lost", "third"),
        lambda cells: cells.scheduler.list_host_state(context.new(), "compute", partition="third"),
        lambda cells: cells.scheduler.list_decisions(context.new(), partition="third"),
    ],
    ids=["report", "documents", "decisions"],
)
def test_unknown_partition_is_a_typed_error(cells, ask):
    with pytest.raises(errors.UnknownPartition, match="'third'; configured here: default, second"):
        ask(cells)
