# SPDX-License-Identifier: Apache-2.0
"""Boots and deletes that the conductors' store and the partition forget together, and what users see then.

Each act is a generator in four parts: what is kept; the act, which is forgotten; what follows before any host has
audited; what follows after all have. First parts are executed in the order of ACTS, second ones in reverse: a message
that one leaves under way is not delivered by another's.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from conductor.reports import intake
from conductor.saga.transitions import set_step
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.resources import names
from tests.regressions.forgetful_stores import ForgetfulStores
from tests.support.conductor.simulated_cluster import CTXT, SimulatedCluster
from tests.support.store.store_partition import running

CAPACITIES = {"h1/n": 20, "h2/n": 20}
AMOUNTS = {"VCPU": 1}


class RecordCluster(SimulatedCluster):
    """A cluster on stores that forget together; one conductor."""

    def __init__(self, stores: ForgetfulStores) -> None:
        super().__init__(CAPACITIES, claim_store=stores.partition().store)
        self.store = stores.records()  # type: ignore[assignment]
        self._now = stores.now
        self.conductor()

    def boot(self, uuid: str) -> None:
        """Send a boot, or repeat it."""
        self.build([uuid], first_sent_ms=self._now())

    def boot_active(self, uuid: str) -> None:
        self.boot(uuid)
        self.work_off()
        assert self.statuses([uuid]) == ["ACTIVE"]

    def delete_whole(self, uuid: str) -> None:
        self.delete([uuid])
        self.work_off()
        assert (self.statuses([uuid]), self.hosts.guests_of(uuid)) == (["DELETED"], [])

    def wake(self, uuid: str, **changes: Any) -> None:
        """Let the instance's next step, or the given one, be due at once, and work it off."""
        record = self.record(uuid)
        self.store.write_without_lease([set_step(record, changes.get("step", record.step))], wake=True)
        self.work_off()

    def audit(self) -> None:
        """Let every host report its guests."""
        epoch = self.ledger.store.snapshot().epoch
        for host in (names.host_of(node) for node in CAPACITIES):
            guests = [
                running(ref, node, amounts=AMOUNTS)
                for ref, node in self.hosts.guests.items()
                if names.host_of(node) == host
            ]
            self.ledger.store.audit(host, epoch, guests, 0)

    def report_running(self, uuid: str) -> None:
        """Let the host report the guest again, as after a lost answer."""
        ((node, attempt),) = self.hosts.guests_of(uuid)
        report = objects.BuildReport.of(
            host=names.host_of(node), uuids=[uuid], attempts=[attempt], outcomes=["active"], reasons=[""]
        )
        intake.record(self.conductors[0], CTXT, report)
        self.work_off()

    def agrees(self, uuid: str, status: str) -> None:
        """Assert the status of the record, and that it agrees with guest and claim."""
        assert self.statuses([uuid]) == [status], self.record(uuid)
        self.check_instance(uuid, self.ledger.live().get(uuid))
        assert self.ledger.problems() == []


def repeated_deletion(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.boot_active(uuid)
    yield
    cluster.delete_whole(uuid)
    yield
    assert (cluster.statuses([uuid]), cluster.hosts.guests_of(uuid)) == (["ACTIVE"], [])
    yield
    cluster.delete_whole(uuid)
    cluster.agrees(uuid, "DELETED")


def deletion_that_nobody_repeats(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.boot_active(uuid)
    yield
    cluster.delete_whole(uuid)
    yield
    # Before its host has audited nobody infers from the lost claim; afterwards the record becomes true
    cluster.compare()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    yield
    cluster.compare()
    cluster.agrees(uuid, "ERROR")
    assert "no longer runs it: its claim was released" in cluster.reason(uuid)
    cluster.delete_whole(uuid)


def whole_boot(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    yield
    cluster.boot_active(uuid)
    yield
    # Its guest runs, and its record is gone. A boot that is repeated waits: no second copy starts
    guests = cluster.hosts.guests_of(uuid)
    cluster.report_running(uuid)
    with pytest.raises(errors.UnknownInstance):
        cluster.delete([uuid])
    cluster.boot(uuid)
    cluster.work_off()
    assert (cluster.statuses([uuid]), cluster.hosts.guests_of(uuid)) == (["SCHEDULING"], guests)
    assert "is undecided: hosts that may run it" in cluster.reason(uuid)
    yield
    # After its host's audit the record names the guest that runs, and it can be deleted
    cluster.wake(uuid)
    cluster.agrees(uuid, "ACTIVE")
    assert cluster.hosts.guests_of(uuid) == guests
    cluster.delete_whole(uuid)


def boot_that_nobody_repeats(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    yield
    cluster.boot_active(uuid)
    yield
    cluster.report_running(uuid)
    yield
    # Its guest keeps running under its confirmed claim, without a record
    cluster.report_running(uuid)
    ((node, attempt),) = cluster.hosts.guests_of(uuid)
    assert cluster.ledger.live()[uuid] == (node, attempt, "confirmed")


def boot_and_its_deletion(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    yield
    cluster.boot_active(uuid)
    cluster.delete_whole(uuid)
    yield
    with pytest.raises(errors.UnknownInstance):
        cluster.delete([uuid])
    yield
    # Where the boot is repeated, it is another instance of that uuid, which can be deleted
    cluster.boot(uuid)
    cluster.work_off()
    cluster.agrees(uuid, "ACTIVE")
    cluster.delete_whole(uuid)


def deletion_with_the_end_of_its_boot(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.boot(uuid)
    cluster.work()
    yield
    cluster.work_off()
    cluster.delete_whole(uuid)
    yield
    # It is building again, and its host has ended the attempt
    assert (cluster.statuses([uuid]), cluster.hosts.guests_of(uuid)) == (["BUILDING"], [])
    yield
    # When its build is sent again, then its host refuses the ended attempt, and the next one runs
    cluster.wake(uuid, step=SagaStep.CAST)
    cluster.agrees(uuid, "ACTIVE")
    assert cluster.record(uuid).attempt == 2
    cluster.delete_whole(uuid)


def end_of_a_boot(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.boot(uuid)
    cluster.work()
    yield
    cluster.work_off()
    assert cluster.statuses([uuid]) == ["ACTIVE"]
    yield
    # It is building again; when its build is sent again, then its host reports the guest that runs
    guests = cluster.hosts.guests_of(uuid)
    assert cluster.statuses([uuid]) == ["BUILDING"]
    cluster.wake(uuid, step=SagaStep.CAST)
    assert (cluster.statuses([uuid]), cluster.hosts.guests_of(uuid)) == (["ACTIVE"], guests)
    yield
    cluster.agrees(uuid, "ACTIVE")
    cluster.delete_whole(uuid)


def next_attempt(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.hosts.behaviours[uuid, 1] = "refused"
    cluster.boot(uuid)
    cluster.work()
    yield
    cluster.work_off()
    assert (cluster.statuses([uuid]), cluster.record(uuid).attempt) == (["ACTIVE"], 2)
    yield
    # The first attempt is building again. Its host refuses it, and the next one, which runs, is not started elsewhere
    guests = cluster.hosts.guests_of(uuid)
    cluster.wake(uuid, step=SagaStep.CAST)
    assert (cluster.record(uuid).attempt, cluster.hosts.guests_of(uuid)) == (1, guests)
    yield
    cluster.wake(uuid)
    cluster.agrees(uuid, "ACTIVE")
    assert cluster.hosts.guests_of(uuid) == guests
    cluster.delete_whole(uuid)


def boot_that_its_host_receives_late(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    yield
    cluster.boot(uuid)
    cluster.work()
    yield
    # The host gets no confirmation for a claim that is forgotten, and starts nothing
    cluster.work_off()
    assert cluster.hosts.guests_of(uuid) == []
    yield
    cluster.boot(uuid)
    cluster.work_off()
    cluster.agrees(uuid, "ACTIVE")


def deletion_that_its_host_receives_late(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.boot_active(uuid)
    yield
    cluster.delete([uuid])
    cluster.work()
    yield
    # The host stops the guest and reports it, and the record shows it
    cluster.work_off()
    cluster.agrees(uuid, "ERROR")
    assert "ended it" in cluster.reason(uuid)
    yield
    cluster.agrees(uuid, "ERROR")
    cluster.delete_whole(uuid)


def deletion_before_any_step(cluster: RecordCluster, uuid: str) -> Iterator[None]:
    cluster.boot_active(uuid)
    yield
    cluster.delete([uuid])
    yield
    cluster.work_off()
    yield
    # The instance runs on, and its record says so
    cluster.compare()
    cluster.agrees(uuid, "ACTIVE")
    cluster.delete_whole(uuid)


ACTS = (
    deletion_before_any_step,
    deletion_that_its_host_receives_late,
    boot_that_its_host_receives_late,
    repeated_deletion,
    deletion_that_nobody_repeats,
    whole_boot,
    boot_that_nobody_repeats,
    boot_and_its_deletion,
    end_of_a_boot,
    next_attempt,
    deletion_with_the_end_of_its_boot,
)
