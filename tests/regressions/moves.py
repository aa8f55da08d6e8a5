# SPDX-License-Identifier: Apache-2.0
"""A cluster with one instance, for regressions of its moves."""

from collections.abc import Iterator
from pathlib import Path

from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import objects
from tests.support.conductor.live_cluster import HOSTS
from tests.support.simulation.moves_cluster import SPEC, MovesCluster
from tests.support.simulation.moves_hosts import Message
from tests.support.store.store_partition import StorePartition

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
AUDITS = 3
COMPARISONS = 3


class MovingInstance(MovesCluster):
    """One instance of flavor m1.1 that was booted on h1. It runs at most once at every step."""

    def __init__(self, folder: Path, partition: StorePartition) -> None:
        super().__init__(folder, partition, slots=1)
        self.settle()
        (self.uuid,) = self.slots
        self.check_rests_on("h1", 1)

    @property
    def instance(self) -> InstanceRecord:
        return self.record(self.uuid)

    # -- requests --------------------------------------------------------------------------------------------------

    def request(self, kind: str, target: str | None = None, flavor: objects.RequestSpec = SPEC) -> None:
        """Request a move of a kind."""
        self.move(kind, 0, target, flavor)

    def run_to_step(self, step: SagaStep) -> None:
        """Work, deliver messages and let time pass until the record has the step, whose work is not done yet."""
        while self.instance.step != step:
            assert self.work() or self.hosts.deliver() or self.fire_next(), self.instance
            self.check_runs_once()

    def take_messages(self, host: str) -> list[Message]:
        """Take the messages to a host from the bus."""
        messages = [message for message in self.hosts.queue if message[0] == host]
        self.hosts.queue = [message for message in self.hosts.queue if message[0] != host]
        return messages

    def arrive(self, messages: list[Message]) -> None:
        """Let messages arrive, and give their effects a minute."""
        for message in messages:
            self.hosts.deliver_one(message)
            self.check_runs_once()
        self.settle(MINUTE_MS)

    # -- repairs ---------------------------------------------------------------------------------------------------

    def compare_often(self) -> None:
        """Compare the records with the claims several times, more than a minute apart."""
        for _ in range(COMPARISONS):
            self.compare()
            self.settle(2 * MINUTE_MS)
        self.check_always()

    def audit_all(self, hosts: tuple[str, ...] = HOSTS) -> None:
        """Let hosts audit once, in this order."""
        for host in hosts:
            self.hosts.audit(host)
            self._vouch()
            self.check_always()

    def repair(self) -> None:
        """Audit all hosts and compare the records, until nothing is left to repair."""
        for _ in range(AUDITS):
            self.audit_all()
            self.settle(2 * MINUTE_MS)
            self.compare_often()

    def lose_host(self, host: str) -> None:
        """Power a host off, fence it, and let the conductors find out."""
        self.power_off(host)
        self.settle(2 * MINUTE_MS)
        self.compare_often()

    # -- what must hold --------------------------------------------------------------------------------------------

    def guests(self) -> list[tuple[str, int, str]]:
        """Return (host, attempt, state) of each guest of the instance."""
        return sorted(
            (host, guest.attempt, "off" if guest.is_off else "paused" if guest.is_paused else "running")
            for host, guest in self.hosts.guests()
        )

    def allocations(self) -> list[dict[str, dict[str, int]]]:
        """Return what each live claim holds."""
        return [{node: dict(amounts) for node, amounts in row.allocations.items()} for row in self.live_claims()]

    def check_rests_on(self, host: str, attempt: int | None = None, *, state: str = "running") -> None:
        """Assert that the record, one confirmed claim and one guest in that state agree about the instance.

        ``attempt``: the expected one, by default that of the record.
        """
        record, number = self.instance, attempt or self.instance.attempt
        status = "ACTIVE" if state == "running" else "SHUTOFF"
        fields = (record.status, record.step, record.host, record.attempt, record.reason, record.open_migration)
        assert fields == (status, SagaStep.DONE, f"{host}/n", number, None, None), record
        assert self.ledger.live() == {self.uuid: (f"{host}/n", number, "confirmed")}
        assert self.guests() == [(host, number, state)]
        assert self.ledger.problems() == []

    def check_waits_for_confirm(self, source: tuple[str, int], destination: tuple[str, int]) -> None:
        """Assert that the instance runs at its destination, and may go back to its stopped source."""
        record = self.instance
        assert record.open_migration is not None, record
        assert (record.status, record.step, record.move.status) == ("VERIFY_RESIZE", SagaStep.DONE, "finished")
        hosts = {self.uuid: destination, record.move.uuid: source}
        assert self.ledger.live() == {
            name: (f"{host}/n", number, "confirmed") for name, (host, number) in hosts.items()
        }
        assert self.guests() == sorted([(*source, "off"), (*destination, "running")])
        assert self.ledger.problems() == []

    def check_deletes(self) -> None:
        """Delete the instance, and assert that nothing is left of it."""
        self.delete([self.uuid])
        self.settle(DAY_MS)
        self.repair()
        assert (self.instance.status, self.instance.step) == ("DELETED", SagaStep.DONE), self.instance
        assert (self.ledger.live(), self.guests(), self.ledger.problems()) == ({}, [], [])


def open_cluster(folder: Path, partition: StorePartition) -> Iterator[MovingInstance]:
    """Yield a cluster, and close it: the body of a fixture."""
    cluster = MovingInstance(folder, partition)
    yield cluster
    cluster.close()
