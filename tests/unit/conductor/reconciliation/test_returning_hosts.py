# SPDX-License-Identifier: Apache-2.0
"""A fenced host returns after its instance was evacuated: its copy is removed, whatever the store has forgotten."""

import copy

import pytest

from conductor.collaborators import ServiceClients
from conductor.reconciliation import vouching
from rpcapi import objects
from rpcapi.resources.claims import INSTANCE, Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.records import RunningClaim
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list

UUIDS = uuid_list(3)
FIRST = UUIDS[0]


class ReturningHosts:
    """A cluster whose first instance was evacuated from h1, with hosts that audit what runs on them.

    ``forget`` returns the store to a moment and begins an epoch, as after a restored backup.
    """

    def __init__(self) -> None:
        self.cluster = SimulatedCluster(THREE)
        self.cluster.conductor()
        self.cluster.build(UUIDS)
        self.cluster.settle()
        self.before_fence = self._mark()
        self.cluster.lose_host("h1")
        self.after_fence = self._mark()
        self.cluster.compare()
        self.cluster.evacuate([FIRST])
        self.cluster.settle()
        self.destination = (self.cluster.record(FIRST).host or "").partition("/")[0]
        self.copies = dict(self.cluster.hosts.lost_guests)  # what runs on h1, unless the machine was powered off

    def _mark(self) -> object:
        return copy.deepcopy(self.cluster.ledger.store.state)

    def forget(self, mark: object) -> None:
        store = self.cluster.ledger.store
        epoch, position = store.state.epoch, store.state.position
        store.state = copy.deepcopy(mark)
        store.state.epoch, store.state.position = epoch, position
        store.begin_epoch()

    def new_epoch(self) -> None:
        self.cluster.ledger.forget()

    def return_of_h1(self) -> None:
        """Let the agent of h1 be reached again, with all that it ran when it was cut off."""
        hosts = self.cluster.hosts
        hosts.behaviours["h1"] = "active"
        self.cluster.scheduler.down.clear()
        hosts.guests |= self.copies

    def audit(self, host: str) -> list[Answer]:
        """Audit a host as its agent does: end what is over, and let the conductor check what is unverified."""
        store, hosts = self.cluster.ledger.store, self.cluster.hosts
        running = [
            RunningClaim(uuid, attempt, True, node, {node: {"VCPU": 1}}, INSTANCE, "p", "u", "r")
            for (uuid, attempt), node in hosts.guests.items()
            if node.startswith(f"{host}/")
        ]
        answers = store.audit(host, store.snapshot().epoch, running, 0).answers
        for result in answers:
            ref = ClaimRef(result.consumer, result.attempt)
            if result.answer in (Answer.FENCED, Answer.CONFLICT, Answer.RELEASED, Answer.ENDED):
                del hosts.guests[ref]
            elif result.answer == Answer.UNVERIFIED:
                self._check_unverified(host, ref)
        self.cluster.settle()
        return [result.answer for result in answers]

    def _check_unverified(self, host: str, ref: ClaimRef) -> None:
        cluster = self.cluster
        clients = ServiceClients(cluster.scheduler, cluster.hosts, lambda partition: cluster.claims, PARTITION)  # type: ignore[arg-type, return-value]
        refs = objects.ClaimRefs.of(consumers=[ref.consumer], attempts=[ref.attempt])
        vouching.check(make_conductor(cluster.store, clients), PARTITION, host, refs)


@pytest.fixture
def returning() -> ReturningHosts:
    return ReturningHosts()


def test_host_that_returns_in_the_epoch_of_the_fence_removes_its_copy(returning: ReturningHosts) -> None:
    returning.return_of_h1()
    assert returning.audit("h1") == [Answer.FENCED]
    assert returning.cluster.statuses(UUIDS) == ["ACTIVE"] * 3
    returning.cluster.check(UUIDS)


def test_host_that_returns_in_a_later_epoch_removes_its_copy(returning: ReturningHosts) -> None:
    returning.new_epoch()
    returning.return_of_h1()
    for host in ("h1", "h2", "h3"):
        returning.audit(host)
    assert returning.cluster.statuses(UUIDS) == ["ACTIVE"] * 3
    returning.cluster.check(UUIDS)


@pytest.mark.parametrize("moment", ["before_fence", "after_fence"])
@pytest.mark.parametrize("is_first", [True, False], ids=["h1 audits first", "the destination audits first"])
def test_evacuated_instance_wins_where_the_store_forgot_the_evacuation(
    returning: ReturningHosts, moment: str, is_first: bool
) -> None:
    # Given a store that was restored from a backup, and a host that was only cut off
    returning.forget(getattr(returning, moment))
    returning.return_of_h1()
    others = [host for host in ("h2", "h3") if host != returning.destination]
    order = ["h1", returning.destination] if is_first else [returning.destination, "h1"]
    for host in [*order, *others]:
        returning.audit(host)
    # When the destination audits again, as it does while it has an unverified claim
    returning.audit(returning.destination)
    # Then only the evacuated instance runs, under its claim, and the record never showed anything else
    assert returning.cluster.statuses(UUIDS) == ["ACTIVE"] * 3
    assert returning.cluster.record(FIRST).attempt == 2
    returning.cluster.check(UUIDS)
    returning.cluster.compare()
    assert returning.cluster.statuses(UUIDS) == ["ACTIVE"] * 3
    assert returning.cluster.ledger.store.verify().claims.get("unverified", 0) == 0


def test_attempt_that_the_record_does_not_name_ends_no_other_one(returning: ReturningHosts) -> None:
    """A host cannot end another host's claim by what it reports: only the record can."""
    returning.return_of_h1()
    returning.audit("h1")
    forged = ClaimRef(FIRST, 9)
    returning.cluster.hosts.guests[forged] = "h1/n"
    assert returning.audit("h1") == [Answer.UNVERIFIED]
    assert returning.cluster.ledger.live()[FIRST][1] == 2
    assert returning.cluster.statuses([FIRST]) == ["ACTIVE"]
    assert (FIRST, 2) in returning.cluster.hosts.guests
