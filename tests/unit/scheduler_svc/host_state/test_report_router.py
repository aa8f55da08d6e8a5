# SPDX-License-Identifier: Apache-2.0
"""Reports of hosts go to their partition, and hosts move between partitions."""

import logging

import pytest

from rpcapi import context, errors
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.host_state import report_router
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.store.records import HostReport
from tests.support.scheduler import hosts
from tests.support.scheduler.deployments import TWO_CELLS, PartitionedDeployment
from tests.support.scheduler.hosts import SMALL_REQUEST, node, request
from tests.support.scheduler.replica_views import FILTER_POLICY


class TwoCells:
    def __init__(self):
        self.deployment = PartitionedDeployment(**TWO_CELLS)
        self.partitions = self.deployment.worker.partitions
        self.sequence = 1

    def report(self, host, partition, nodes=None, host_uuid=""):
        self.sequence += 1
        overviews = {host: node()} if nodes is None else nodes
        return report_router.update_stats(
            self.partitions,
            host,
            partition,
            HostReport(
                register=True,
                agent="a",
                incarnation=0,
                sequence=self.sequence,
                nodes=overviews,
                host_uuid=host_uuid,
            ),
        )

    def names(self, partition):
        return [name for name, _, _ in self.deployment.stores[partition].list_state("compute")[0]]


@pytest.fixture
def cells():
    return TwoCells()


def test_report_goes_to_its_partition(cells):
    cells.report("new", "b")
    cells.report("old-agent", None)
    assert "new" in cells.names("b") and "old-agent" in cells.names("a")
    with pytest.raises(errors.UnknownPartition):
        cells.report("new", "elsewhere")


def test_host_without_claims_moves_with_its_nodes(cells):
    cells.report("m", "b", {"m/1": node()})
    cells.deployment.worker.follow()
    assert ("m/1" in cells.names("a"), "m/1" in cells.names("b")) == (False, True)
    assert [partition.name for partition in cells.partitions.of_host("m")] == ["b"]
    with pytest.raises(errors.UnknownHost):
        cells.deployment.stores["a"].get_state("service", "m")


def test_host_with_claims_cannot_move(cells):
    asks = SelectionCall(context.new("p", "u"), request(force_hosts=("m",)), ["vm"])
    assert cells.deployment.worker.scheduler.select(FILTER_POLICY, asks).partition == "a"
    with pytest.raises(errors.HostInUse, match="'m' holds 1 live claims in partition 'a'"):
        cells.report("m", "b", {"m/1": node()})
    assert "m/1" not in cells.names("b")
    cells.report("m", "a", {"m/1": node()})
    cells.deployment.stores["a"].abort([ClaimRef("vm", 1)])
    cells.report("m", "b", {"m/1": node()})
    assert "m/1" in cells.names("b")


def test_host_with_claims_cannot_move_although_the_table_lacks_it(cells):
    # Given a host that has just registered, got its claim from another worker, and registers elsewhere
    hosts.join(cells.deployment.stores["b"], {"late": node()})
    state = cells.deployment.stores["b"].snapshot()
    intents = [Intent("vm", 1, [Candidate("late")])]
    batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, intents, state.epoch, state.position, ttl_ms=60_000)
    assert cells.deployment.stores["b"].prepare(batch).accepted
    assert cells.partitions.of_host("late") == []
    with pytest.raises(errors.HostInUse, match="'late' holds 1 live claims in partition 'b'"):
        cells.report("late", "a")


def test_host_that_is_up_moves_with_its_state_folder_only(cells):
    owner, namesake = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2))
    cells.report("new", "a", host_uuid=owner)
    with pytest.raises(errors.HostIdentityConflict, match=f"state folder {owner} has this name, and its agent is up"):
        cells.report("new", "b", host_uuid=namesake)
    assert "new" in cells.names("a") and "new" not in cells.names("b")
    cells.report("new", "b", host_uuid=owner)
    assert "new" in cells.names("b") and "new" not in cells.names("a")


def test_host_cannot_leave_an_unavailable_partition(cells):
    cells.deployment.take_away("a")
    with pytest.raises(errors.StoreUnavailable):
        cells.report("m", "b", {"m/1": node()})
    assert "m/1" not in cells.names("b")
    cells.report("new", "b")
    assert "new" in cells.names("b")


def test_host_is_removed_from_its_partition(cells):
    for name in ("b1", "b1", "nobody"):
        report_router.remove(cells.partitions, name)
    assert cells.names("b") == ["b2", "n/1"]


def test_move_of_a_host_is_logged(cells, caplog):
    with caplog.at_level(logging.WARNING):
        cells.report("a1", "a")
        assert not caplog.records
        cells.report("a1", "b")
    assert "Host a1 moved from partition a to b" in caplog.text


def test_host_that_no_worker_knows_is_removed_from_every_partition(cells):
    # The host is in a store, but the worker's table has not followed yet.
    cells.deployment.stores["b"].update_stats(
        "late", HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes={"late": node()})
    )
    report_router.remove(cells.partitions, "late")
    assert "late" not in cells.names("b")


def test_awaited_host_is_removed_by_an_operator_but_does_not_move(cells):
    store = cells.deployment.stores["a"]
    store.begin_epoch()
    store.state.alive["a1"] = False
    with pytest.raises(errors.Conflict, match="let it audit"):
        cells.report("a1", "b")
    assert "a1" in cells.names("a")
    report_router.remove(cells.partitions, "a1")
    assert "a1" not in cells.names("a")
    assert "a1" not in store.verify().awaited
