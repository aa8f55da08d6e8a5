# SPDX-License-Identifier: Apache-2.0
"""Real sagas, agents and stores, of which each step of the model is one; see tests/support/simulation."""

import contextlib
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compute_agent.attempt import Attempt as RealAttempt
from compute_agent.attempt import AttemptRef, ClaimEnd, Stage
from compute_agent.attempts import builder
from compute_agent.attempts.calls import ServiceCalls
from compute_agent.attempts.copies import advance
from compute_agent.attempts.saga import REMIND_ALL_MS, AttemptSaga
from compute_agent.endpoints.compute import ComputeEndpoint
from compute_agent.simulator.hypervisor import SpawnFailed
from conductor.reconciliation import vouching
from conductor.saga.saga import BuildSaga
from conductor.store.records import InstanceRecord, LeaseLost
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from scheduler_svc.endpoints import decode, encode
from tests.model.real_store import contents_of
from tests.model.saga import Site
from tests.model.state import NOWHERE, Agent, Attempt, Copy, Migration, Record, Store
from tests.support.agent.rig import AgentKilled
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.live_cluster import HOSTS
from tests.support.conductor.partitions import WEST, LedgerPartition
from tests.support.conductor.simulated_cluster import LEASE_MS, LIMITS
from tests.support.simulation.moves_cluster import FLAVORS, MovesCluster
from tests.support.simulation.moves_hosts import AuditedClaims, Message
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import LONG_MS

LAST = 5  # tries after which a step checks the claim
_PARTITIONS = (PARTITION, WEST)
KINDS = {"migration": "cold", "resize": "cold", "live-migration": "live"}


def name_of(host: int) -> str:
    return f"h{host + 1}"


def number_of(node: str | None) -> int:
    return NOWHERE if node is None else int(names.host_of(node)[1:]) - 1


class _OneStep(threading.Event):
    """Lets a saga take one step: it is asked before each."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def is_set(self) -> bool:
        self._calls += 1
        return self._calls > 1


class SteppedAgent:
    """The agent of one host, each step of which is a call."""

    def __init__(self, cluster: "RealCluster", host: int) -> None:
        self._cluster = cluster
        self._claims: Any = cluster.claims_at(name_of(host))
        self.rig = cluster.hosts.rigs[name_of(host)]
        self._take_over()

    def _take_over(self) -> None:
        rig = self.rig
        self.manager = rig.guest_manager
        calls = ServiceCalls(5.0)
        self.saga: Any = AttemptSaga(self.manager, self._claims, self._cluster.hosts, calls, lambda: math.inf)

    def restart(self) -> None:
        self.rig.stop()
        self.rig.start()
        self._take_over()

    @property
    def endpoint(self) -> ComputeEndpoint:
        """The endpoint whose messages are applied, and nothing else is done."""
        rig = self.rig.host
        changes = SimpleNamespace(
            name=rig.name,
            build=lambda _ctxt, intents, requirements: builder.build(self.manager, intents, requirements),
            submit=lambda ctxt, apply, rows: apply(self.manager, rows, ctxt.request_id, {}),
        )
        return ComputeEndpoint(changes, self._claims.name, 100)  # type: ignore[arg-type]

    def attempt(self, number: int) -> RealAttempt:
        attempt = self.manager.journal.get(AttemptRef(self._cluster.uuid, number))
        assert attempt is not None
        return attempt

    def confirm(self, number: int) -> None:
        self.saga._call_in_batches([self.attempt(number)], self.saga._confirm)

    def start(self, number: int, *, fails: bool) -> None:
        attempt, hypervisor = self.attempt(number), self.manager.hypervisor
        is_incoming = attempt.stage is Stage.INCOMING
        with pytest.MonkeyPatch.context() as patch:
            if fails:
                patch.setattr(hypervisor, "receive" if is_incoming else "spawn", _refuse_to_start)
            self.saga._spawn([attempt])

    def end_claim(self, number: int) -> None:
        attempt = self.attempt(number)
        end = self.saga._abort if attempt.claim_end is ClaimEnd.ABORT else self.saga._release
        self.saga._call_in_batches([attempt], end)

    def report(self, number: int) -> None:
        self._cluster.now_ms += 5_000  # its guest has booted
        self.saga._call_in_batches([self.attempt(number)], self.saga._send_report)

    def remind(self, number: int) -> None:
        """Let the time pass after which it reports a guest again."""
        now_ms = self._cluster.now_ms
        reported_ms = {attempt.ref: now_ms for attempt in self.manager.journal.all()}
        self.saga._reminded_ms = reported_ms | {self.attempt(number).ref: now_ms - REMIND_ALL_MS}
        self.saga.remind()

    def audit(self) -> None:
        self.rig.auditor.audit(self._claims.epoch)

    def advance_copies(self, *, fails: bool) -> None:
        now_ms = self._cluster.now_ms
        copies = self.manager.hypervisor.copies
        for ref, copy in list(copies.items()):
            copies[ref] = replace(copy, failure_ms=now_ms) if fails else copy
        self._cluster.now_ms += 0 if fails else 10_000_000
        advance(self.manager, lambda: None)

    def contents(self) -> Agent:
        """Return the agent as the model has it, without what no journal shows."""
        attempts = sorted(self.manager.journal.all(), key=lambda attempt: attempt.attempt)
        return Agent(2, self.manager.audit_duty.is_due, tuple(map(self._attempt, attempts)))

    def _attempt(self, attempt: RealAttempt) -> Attempt:
        guest = self.manager.hypervisor.get(attempt.ref)
        copy = attempt.copy
        state = "" if guest is None else "off" if guest.is_off else "paused" if guest.is_paused else "running"
        return Attempt(
            number=attempt.attempt,
            stage=str(attempt.stage),
            role=str(attempt.role),
            transition=attempt.transition,
            claim_end="" if attempt.claim_end is ClaimEnd.NOTHING else str(attempt.claim_end),
            outcome=str(attempt.outcome or ""),
            reported=int(attempt.reported),
            is_settled=attempt.ref in self.saga._settled_claims,
            is_incoming=attempt.is_incoming,
            copy=copy and Copy(copy.number, copy.phase, copy.post_copy),
            is_copying=attempt.ref in self.manager.hypervisor.copies,
            held_for=self._cluster.number_of_move(attempt.stopped_for),
            guest=state,
            move=self._cluster.number_of_move(attempt.migration),
            source=attempt.source_attempt or 0,
            starts_off=attempt.starts_off and attempt.stage is Stage.CONFIRMED,
        )


class GracefulClaims(AuditedClaims):
    """The claims service, whose grace period for orphans is over when the cluster says so."""

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        grace_ms = 0 if self._cluster.grace_is_over else LONG_MS  # type: ignore[attr-defined]
        return encode.audit_answer(self.store.audit(report.host, report.epoch, decode.running(report), grace_ms), None)


class RealCluster(MovesCluster):
    """One instance, two or three hosts in one partition or two, and no step that nobody asked for."""

    def __init__(self, folder: Path, site: Site, *, is_booted: bool) -> None:
        self.grace_is_over = False
        self.dies_after_report = False
        self._hosts = range(len(site.partitions))
        moved = [name_of(host) for host in self._hosts if site.partitions[host] != 0]
        west = memory_partition(partition=WEST) if moved else None
        super().__init__(folder, memory_partition(), slots=1, west=west, west_hosts=moved)
        self.delete(self.slots)
        self.settle()
        for name in HOSTS[len(self._hosts) :]:
            self.partitions[0].ledger.nodes.remove(f"{name}/n")
        self.limits = replace(LIMITS, permits_post_copy=site.post_copy)
        self.slots = [""]
        self.uuid = ""
        if is_booted:
            self.boot()
            self.settle()
        self.agents = [SteppedAgent(self, host) for host in self._hosts]
        self.hosts.report_builds = self._report_builds
        self.hosts.queue.clear()

    def _make_service(self, partition: LedgerPartition) -> AuditedClaims:
        return GracefulClaims(self, partition)

    def migrate_to(self, host: int | None) -> None:
        """Request a migration to a host, of whatever partition."""
        migration = f"{len(self.consumers[self.uuid]):08}{self.uuid[8:]}"
        self.consumers[self.uuid].append(migration)
        self.migrate([self.uuid], None if host is None else name_of(host), [migration], allow_cross_cell=True)

    def _report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        self._report(report)
        if self.dies_after_report:
            raise AgentKilled

    def lose_answer(self, report: Callable[[], None]) -> None:
        """Make a report, whose agent is killed before it gets the answer."""
        self.dies_after_report = True
        with contextlib.suppress(AgentKilled):
            report()
        self.dies_after_report = False

    def number_of_move(self, migration: str) -> int:
        """Return the number of a migration among those of the instance; 0 of none."""
        return self.consumers[self.uuid].index(migration) if migration else 0

    # -- requests ------------------------------------------------------------------------------------------------------

    def boot(self, host: str = "h1") -> None:
        """Boot the instance, or repeat that."""
        if not self.slots[0]:
            self._boot(0)
            self.uuid = self.slots[0]
        else:
            self.build([self.uuid], FLAVORS["m1.1"], self.first_sent_ms)
        self.first_sent_ms = self.now_ms

    # -- the conductor -------------------------------------------------------------------------------------------------

    def take_step(self, *, waited: bool, tries: int, is_recorded: bool) -> None:
        """Take the due step of the record; ``waited``: its time is over."""
        record = self.record(self.uuid)
        since_ms = self.now_ms - 3_600_000 if waited else self.now_ms
        due = replace(record, wake_ms=0, since_ms=since_ms, tries=tries)
        self.store.write_without_lease([due], wake=True)
        write = self.store.write
        if not is_recorded:
            self.store.write = _refuse  # type: ignore[method-assign]
        saga = BuildSaga(self.store, self.clients(), self.limits, _OneStep())
        try:
            for lease in self.store.take("it", 4):
                saga.advance(lease)
        except LeaseLost:
            self.now_ms += LEASE_MS + 1
        finally:
            self.store.write = write  # type: ignore[method-assign]

    def vouch(self, host: int, attempt: int) -> None:
        refs = objects.ClaimRefs.of(consumers=[self.uuid], attempts=[attempt])
        vouching.check(
            make_conductor(self.store, self.clients()), self.partition_of(name_of(host)).name, name_of(host), refs
        )

    def deliver(self, message: Message) -> None:
        host, send = message
        send(self.agents[int(host[1:]) - 1].endpoint)

    # -- contents ------------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[Record | None, tuple[Store, ...]]:
        """Return record and stores as the model has them."""
        records = self.store.get([self.uuid]) if self.uuid in self.slots else {}
        record = records.get(self.uuid)
        epoch = self.store.epoch()
        ids = self.consumers.get(self.uuid, [self.uuid])
        stores = tuple(
            contents_of(partition.store.state, ids, self._hosts, name_of, number_of)._replace(partition=number)
            for number, partition in enumerate(self.partitions)
        )
        return None if record is None else _record(
            record, epoch, self.number_of_move(record.migration.uuid if record.migration else "")
        ), stores


def _refuse_to_start(*_arguments: Any, **_values: Any) -> Any:
    raise SpawnFailed("planned failure")


def _refuse(*_arguments: Any, **_values: Any) -> Any:
    raise LeaseLost("killed")


def _record(record: InstanceRecord, epoch: int, move: int) -> Record:
    return Record(
        status=record.status.value,
        step=record.step.value,
        attempt=record.attempt,
        last_attempt=record.last_attempt,
        host=number_of(record.host),
        alternates=tuple(map(number_of, record.alternates)),
        history=tuple((entry["attempt"], entry["outcome"]) for entry in record.history),
        is_second_try=record.asked,
        is_certain=record.certain_epoch == epoch,
        was_stopped=record.was_stopped,
        migration=None if record.migration is None else _migration(record.migration, move),
        partition=_PARTITIONS.index(record.partition or PARTITION),
    )


def _migration(migration: Any, number: int) -> Migration:
    return Migration(
        kind=KINDS.get(migration.kind.value, migration.kind.value),
        status=migration.status.value,
        source=number_of(migration.source_host),
        source_attempt=migration.source_attempt,
        destination_attempt=migration.destination_attempt or 0,
        request=migration.copy_request,
        phase=migration.copy_phase,
        is_resumed=migration.is_resumed,
        is_checked=migration.with_disk is not None,
        has_reason=migration.reason is not None and migration.kind.value != "evacuation",
        was_stopped=migration.was_stopped,
        source_partition=_PARTITIONS.index(migration.source_partition or PARTITION),
        number=number or 1,
    )
