# SPDX-License-Identifier: Apache-2.0
"""What users see after the conductor's store forgot acknowledged writes: a deletion, a part of it, or a whole boot.

A guest whose record was forgotten was stopped by the next report of its host, under its confirmed claim.
"""

from collections.abc import Iterator

import pytest

from conductor.reports import intake
from conductor.saga.transitions import set_step
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.resources import names
from tests.support.conductor.bench import StoreWithClock, memory_bench, redis_bench
from tests.support.conductor.simulated_cluster import CTXT, THREE, SimulatedCluster, uuid_list

(UUID,) = uuid_list(1)


class Deployment(SimulatedCluster):
    """A cluster whose conductors' store can forget; one conductor, and an instance that is ACTIVE."""

    def __init__(self, bench: StoreWithClock) -> None:
        super().__init__(THREE)
        self.bench = bench
        self.store = bench.store  # type: ignore[assignment]
        self.conductor()
        self.mark_before_boot = bench.mark()
        self.build([UUID], first_sent_ms=bench.now())
        self.work_off()
        assert self.statuses([UUID]) == ["ACTIVE"]

    def report_running(self) -> None:
        """Let the host report the guest again, as after a lost answer."""
        ((node, attempt),) = self.hosts.guests_of(UUID)
        report = objects.BuildReport.of(
            host=names.host_of(node), uuids=[UUID], attempts=[attempt], outcomes=["active"], reasons=[""]
        )
        intake.record(self.conductors[0], CTXT, report)
        self.work_off()


@pytest.fixture(params=["memory", "redis"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    if request.param == "memory":
        yield Deployment(memory_bench())
        return
    server = request.getfixturevalue("redis_server")
    for bench in redis_bench(server, server.url()):
        yield Deployment(bench)


def test_forgotten_deletion_can_be_repeated(cluster: Deployment) -> None:
    # Given a store that forgot a whole deletion: the record is ACTIVE again, guest and claim are gone
    mark = cluster.bench.mark()
    cluster.delete([UUID])
    cluster.work_off()
    cluster.bench.forget_since(mark)
    assert (cluster.statuses([UUID]), cluster.hosts.guests) == (["ACTIVE"], {})
    # When it is repeated, then the instance is deleted
    cluster.delete([UUID])
    cluster.work_off()
    assert cluster.statuses([UUID]) == ["DELETED"]
    cluster.check([UUID])


def test_record_of_forgotten_deletion_becomes_true(cluster: Deployment) -> None:
    # Given the same, and a caller who does not repeat the deletion
    mark = cluster.bench.mark()
    cluster.delete([UUID])
    cluster.work_off()
    cluster.bench.forget_since(mark)
    # When records are compared with claims, then the record shows that nothing runs, and can be deleted
    cluster.compare()
    assert cluster.statuses([UUID]) == ["ERROR"]
    assert "no longer runs it: its claim was released" in cluster.reason(UUID)
    cluster.delete([UUID])
    cluster.work_off()
    assert cluster.statuses([UUID]) == ["DELETED"]
    cluster.check([UUID])


def test_deletion_forgotten_before_the_host_reports(cluster: Deployment) -> None:
    # Given a deletion whose message is on its way to the host when the store forgets it
    mark = cluster.bench.mark()
    cluster.delete([UUID])
    cluster.work()
    cluster.bench.forget_since(mark)
    # When the host stops the guest and reports it, then the record shows it
    cluster.work_off()
    assert (cluster.statuses([UUID]), cluster.hosts.guests) == (["ERROR"], {})
    assert "ended it" in cluster.reason(UUID)


def test_deletion_forgotten_before_any_step_leaves_the_instance(cluster: Deployment) -> None:
    # Given a deletion that was acknowledged and forgotten at once
    mark = cluster.bench.mark()
    cluster.delete([UUID])
    cluster.bench.forget_since(mark)
    cluster.work_off()
    # Then the instance runs on, and its record says so
    cluster.compare()
    assert cluster.statuses([UUID]) == ["ACTIVE"]
    cluster.check([UUID])


def test_deletion_forgotten_with_the_end_of_its_boot(cluster: Deployment) -> None:
    # Given an instance that was built and deleted, and a store that has it as building again
    (_, other) = uuid_list(2)
    cluster.build([other], first_sent_ms=cluster.bench.now())
    cluster.work()
    mark = cluster.bench.mark()
    cluster.work_off()
    cluster.delete([other])
    cluster.work_off()
    cluster.bench.forget_since(mark)
    # When its build is sent again, then its host refuses the ended attempt, and another builds it
    (record,) = cluster.store.get([other]).values()
    cluster.store.write_without_lease([set_step(record, SagaStep.CAST)], wake=True)
    cluster.work_off()
    assert (cluster.statuses([other]), cluster.record(other).attempt) == (["ACTIVE"], 2)
    cluster.check([UUID, other])
    # And it can be deleted again
    cluster.delete([other])
    cluster.work_off()
    assert (cluster.statuses([other]), cluster.hosts.guests_of(other)) == (["DELETED"], [])


def test_guest_of_a_forgotten_boot_keeps_running(cluster: Deployment) -> None:
    # Given a store that forgot the boot of a running instance
    guests = dict(cluster.hosts.guests)
    cluster.bench.forget_since(cluster.mark_before_boot)
    # When its host reports the guest
    cluster.report_running()
    # Then the guest keeps running under its confirmed claim
    assert cluster.hosts.guests == guests
    assert cluster.ledger.live()[UUID][2] == "confirmed"


def test_repeated_boot_finds_the_forgotten_guest(cluster: Deployment) -> None:
    # Given the same
    guests = dict(cluster.hosts.guests)
    cluster.bench.forget_since(cluster.mark_before_boot)
    with pytest.raises(errors.UnknownInstance):
        cluster.delete([UUID])
    # When the boot is repeated with the same uuid, then its record names the guest that runs; no second one starts
    cluster.build([UUID], first_sent_ms=cluster.bench.now())
    cluster.work_off()
    assert cluster.hosts.guests == guests
    cluster.check([UUID])
    # And it can be deleted
    cluster.delete([UUID])
    cluster.work_off()
    assert (cluster.statuses([UUID]), cluster.hosts.guests) == (["DELETED"], {})


def test_boot_forgotten_while_its_host_builds(cluster: Deployment) -> None:
    # Given another boot, whose build is on its way to the host when the store forgets it
    (_, other) = uuid_list(2)
    mark = cluster.bench.mark()
    cluster.build([other], first_sent_ms=cluster.bench.now())
    cluster.work()
    cluster.bench.forget_since(mark)
    cluster.work_off()
    # Then its guest runs under its claim; the repeated boot adopts it
    assert len(cluster.hosts.guests_of(other)) == 1
    cluster.build([other], first_sent_ms=cluster.bench.now())
    cluster.work_off()
    cluster.check([UUID, other])
