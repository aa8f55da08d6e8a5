# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster in one thread: conductors that may crash, the real claim rules, and scripted hosts.

Messages wait in a queue until the test delivers them; time advances only when no other work is left.
"""

import contextlib
import pickle
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conductor.admission import AdmissionLimits
from conductor.collaborators import Conductor, ServiceClients
from conductor.reconciliation.reconciler import RecordReconciler
from conductor.reports import intake
from conductor.requests import builds, moves, operations, requested_changes
from conductor.requests.adoption import adopt
from conductor.requests.deletion import delete
from conductor.requests.evacuation import evacuate
from conductor.requests.power import start, stop
from conductor.requests.requested_changes import apply_to_migrations
from conductor.requests.shelving import offload, shelve, unshelve_instances
from conductor.saga.saga import BuildSaga
from conductor.saga.step_context import SagaLimits, StepContext
from conductor.saga.steps import Step
from conductor.store.bounds import record_bounds
from conductor.store.memory import MemoryConductorStore
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, LeaseLost, RequestLease, StoreTimeouts
from rpcapi import context, errors, objects
from rpcapi.context import RequestContext
from scheduler_svc.store.interface import Store
from tests.support.agent.rig import CALL_SECONDS
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.fake_hosts import FakeHosts
from tests.support.conductor.fakes import FakeClaims, FakeScheduler
from tests.support.conductor.ledger import PARTITION, Ledger
from tests.support.simulation.promises import PromiseBroken

LEASE_MS = 30_000
MAX_PASSES = 500  # of work at one time, until nothing is due
HORIZON_MS = StoreTimeouts().repeat_horizon_ms
# Attributes of the conductors' store that a loss of data restores. The epoch only rises, and stamps are kept apart.
RECORDS = ("_requests", "_instances", "_amounts", "_queue", "_migrations", "_purge", "_sequence")
LIMITS = SagaLimits(max_attempts=3, build_timeout_ms=300_000, select_timeout_ms=180_000, call_s=CALL_SECONDS)
CTXT = context.new("project", "user")


class Crash(BaseException):
    """Simulates the end of a conductor process."""


class _DeclaredCalls:
    """Proxy of a service's client that refuses RPC methods which ``step`` does not declare."""

    def __init__(self, target: Any, step: Step) -> None:
        self._target = target
        self._step = step

    def __getattr__(self, name: str) -> Any:
        assert name in self._step.calls, f"called by {self._step.name}: {name}"
        return getattr(self._target, name)


class StrictSaga(BuildSaga):
    """Saga that fails on an undeclared call, and on an undeclared step instead of retrying."""

    def _run_step(self, lease: RequestLease, context: StepContext, group: Sequence[InstanceRecord], step: Step) -> None:
        def exchange_stamps(ctxt: RequestContext) -> None:
            assert "exchange_stamps" in step.calls, f"called by {step.name}: exchange_stamps"
            context.exchange_stamps(ctxt)

        def declared(client: Any) -> Any:
            return _DeclaredCalls(client, step)

        former = context.clients
        clients = ServiceClients(
            declared(former.scheduler),
            declared(former.compute),
            lambda partition: declared(former.claims(partition)),
            former.partition,
        )
        super()._run_step(lease, replace(context, clients=clients, exchange_stamps=exchange_stamps), group, step)

    def _postpone_undeclared(
        self, context: StepContext, group: Sequence[InstanceRecord], step: Step, changed: Sequence[InstanceRecord]
    ) -> list[InstanceRecord]:
        undeclared = [(record.uuid, record.step) for record in changed if not step.may_set(record.step)]
        assert not undeclared, f"set by {step.name}: {undeclared}"
        return list(changed)


@dataclass
class SimulatedConductor(Conductor):
    """A conductor with its saga."""

    saga: BuildSaga = field(kw_only=True)


class KillSwitch:
    """Ends a conductor at its ``at``-th call of a store or a peer, before or after the call is executed."""

    def __init__(self, at: int, after: bool) -> None:
        self.at = at
        self.after = after
        self.calls = 0
        self.blown = False

    def guard(self, target: Any) -> Any:
        """Return a proxy of ``target`` that passes each call through this kill_switch."""
        return _Guarded(target, self)

    def call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.blown:
            raise Crash
        self.calls += 1
        if self.calls != self.at:
            return method(*args, **kwargs)
        self.blown = True
        if self.after:
            method(*args, **kwargs)
        raise Crash


class _Guarded:
    def __init__(self, target: Any, kill_switch: KillSwitch) -> None:
        self._target = target
        self._fuse = kill_switch

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._target, name)

        def guarded(*args: Any, **kwargs: Any) -> Any:
            return self._fuse.call(method, *args, **kwargs)

        return guarded


class SimulatedCluster:
    """Conductors, a scheduler, claims and hosts that share one clock.

    ``capacities`` maps each node to its VCPUs; the scheduler selects nodes in that order, each host once. Claims are in
    ``claim_store``, by default one in memory.
    """

    def __init__(
        self, capacities: Mapping[str, int], limits: SagaLimits = LIMITS, claim_store: Store | None = None
    ) -> None:
        self.now_ms = 1_700_000_000_000
        self.limits = limits
        self.ledger = Ledger(capacities, lambda: self.now_ms, claim_store)
        self.store = MemoryConductorStore(StoreTimeouts(lease_ms=LEASE_MS), lambda: self.now_ms)
        self.now_ms += HORIZON_MS  # since the store's epoch began
        self.hosts = FakeHosts(self.ledger, self._report)
        self.scheduler = FakeScheduler(self.ledger)
        self.claims = FakeClaims(self.ledger)
        self.conductors: list[SimulatedConductor] = []
        self.quota: dict[str, int] = {}  # limits of each project, where instances are unshelved or resized

    def conductor(self, kill_switch: KillSwitch | None = None) -> SimulatedConductor:
        """Add a conductor, optionally with a kill_switch."""
        guard = kill_switch.guard if kill_switch else lambda target: target
        scheduler, hosts = guard(self.scheduler), guard(self.hosts)
        clients = ServiceClients(scheduler, hosts, lambda partition: guard(self.claims_of(partition)), PARTITION)
        store = guard(self.store)
        conductor = SimulatedConductor(
            store,
            clients,
            record_bounds({}),
            lambda: None,
            1000,
            AdmissionLimits(self.quota),
            clock=lambda: self.now_ms,
            saga=StrictSaga(store, clients, self.limits, threading.Event()),
        )
        self.conductors.append(conductor)
        return conductor

    def claims_of(self, partition: str) -> Any:
        """Return the claims service of a partition."""
        return self.claims

    # -- callers retry until a conductor answers, since oslo.messaging delivers at most once -------------------------

    def build(
        self, uuids: list[str], spec: objects.RequestSpec | None = None, first_sent_ms: int | None = None
    ) -> None:
        sent_s = (first_sent_ms or self.now_ms) / 1000
        self._retry_call(lambda conductor: builds.build(conductor, CTXT, spec or SPEC, uuids, first_sent=sent_s))

    def delete(self, uuids: list[str]) -> None:
        self._retry_call(lambda conductor: requested_changes.apply(conductor, uuids, delete, "delete_instances"))

    def stop(self, uuids: list[str]) -> None:
        self._retry_call(lambda conductor: requested_changes.apply(conductor, uuids, stop, "stop_instances"))

    def start(self, uuids: list[str]) -> None:
        self._retry_call(lambda conductor: requested_changes.apply(conductor, uuids, start, "start_instances"))

    def reboot(self, uuids: list[str], *, hard: bool = False) -> None:
        self._retry_call(lambda conductor: operations.reboot(conductor, uuids, hard=hard))

    def rebuild(self, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        self._retry_call(lambda conductor: operations.rebuild(conductor, CTXT, uuids, image=image))

    def shelve(self, uuids: list[str]) -> None:
        self._retry_call(lambda conductor: requested_changes.apply(conductor, uuids, shelve, "shelve_instances"))

    def offload(self, uuids: list[str]) -> None:
        self._retry_call(lambda conductor: requested_changes.apply(conductor, uuids, offload, "offload_instances"))

    def unshelve(self, uuids: list[str], host: str | None = None) -> None:
        self._retry_call(lambda conductor: unshelve_instances(conductor, CTXT, uuids, host))

    def evacuate(self, uuids: list[str], target: str | None = None, *, series: int = 1) -> None:
        """Evacuate; the uuids of the migrations are of that series."""
        migrations = [move_of(uuid, series) for uuid in uuids]
        self._retry_call(lambda conductor: evacuate(conductor, CTXT, uuids, migrations, target))

    def lose_host(self, host: str) -> None:
        """Power a host off and fence it."""
        self.hosts.behaviours[host] = "lost"
        self.scheduler.down.add(host)
        self.hosts.lost_guests |= {ref: node for ref, node in self.hosts.guests.items() if node.startswith(f"{host}/")}
        for ref in self.hosts.lost_guests:
            self.hosts.guests.pop(ref, None)
        self.ledger.store.fence(host, f"{host}-{self.now_ms}", force=True)

    def migrate(
        self,
        uuids: list[str],
        host: str | None = None,
        migrations: list[str] | None = None,
        *,
        allow_cross_cell: bool = False,
    ) -> None:
        ids = migrations or [migration_of(uuid) for uuid in uuids]
        self._retry_call(
            lambda conductor: moves.migrate(conductor, CTXT, uuids, ids, host, allow_cross_cell=allow_cross_cell)
        )

    def resize(self, uuids: list[str], *flavors: objects.RequestSpec, migrations: list[str] | None = None) -> None:
        ids = migrations or [migration_of(uuid) for uuid in uuids]
        self._retry_call(lambda conductor: moves.resize(conductor, CTXT, uuids, ids, flavors or [LARGE]))

    def confirm(self, uuids: list[str]) -> None:
        ids = [self.migration(uuid).uuid for uuid in uuids]
        if ids:
            self._retry_call(lambda conductor: apply_to_migrations(conductor, ids, moves.confirm, "confirm_migrations"))

    def revert(self, uuids: list[str]) -> None:
        ids = [self.migration(uuid).uuid for uuid in uuids]
        if ids:
            self._retry_call(lambda conductor: apply_to_migrations(conductor, ids, moves.revert, "revert_migrations"))

    def adopt(self, host: str, uuids: list[str]) -> None:
        self._retry_call(lambda conductor: adopt(conductor, CTXT, PARTITION, host, uuids))

    def _report(self, report: objects.BuildReport) -> None:
        self._retry_call(lambda conductor: intake.record(conductor, CTXT, report))

    def _retry_call(self, call: Callable[[SimulatedConductor], None]) -> None:
        while True:
            try:
                return call(self.conductors[0])
            except Crash:
                self._lose_conductor()

    def _lose_conductor(self) -> None:
        """Let the next conductor follow the one that crashed."""
        self.conductors.pop(0)

    # -- a conductors' store that forgets ----------------------------------------------------------------------------

    def copy_records(self) -> bytes:
        """Return a copy of what the conductors' store holds now."""
        return pickle.dumps({name: getattr(self.store, name) for name in RECORDS})

    def restore_records(self, records: bytes) -> None:
        """Restore a copy in the conductors' store, which begins an epoch."""
        for name, value in pickle.loads(records).items():  # noqa: S301 - of copy_records
            setattr(self.store, name, value)
        self.store.begin_epoch()

    # -- time ------------------------------------------------------------------------------------------------------

    def work(self) -> bool:
        """Process all due work with the first conductor; return whether there was any.

        Raises PromiseBroken if that does not end.
        """
        for number in range(MAX_PASSES):
            if not self.conductors:
                raise AssertionError("all conductors have crashed")
            conductor = self.conductors[0]
            try:
                leases = conductor.store.take("it", 4)
                for lease in leases:
                    self._advance(conductor, lease)
                if not leases:
                    return number > 0
            except Crash:
                self._lose_conductor()
        raise PromiseBroken(4, "a saga sets one step after another for ever")

    @staticmethod
    def _advance(conductor: SimulatedConductor, lease: Any) -> None:
        with contextlib.suppress(LeaseLost, errors.Unavailable):
            conductor.saga.advance(lease)

    def work_off(self) -> None:
        """Do all work that is due at once, and deliver all messages."""
        while self.work() or self.hosts.deliver():
            pass

    def clients(self) -> ServiceClients:
        """Return clients of the services that nothing kills."""
        return ServiceClients(self.scheduler, self.hosts, self.claims_of, PARTITION)  # type: ignore[arg-type]

    def reconciler(self) -> RecordReconciler:
        return RecordReconciler(make_conductor(self.store, self.clients()), 60.0)

    def compare(self) -> None:
        """Compare the records with their claims, as often as it takes to believe that one has ended."""
        comparison = self.reconciler()
        for _ in range(2):
            comparison.run_once()

    def settle(self, max_ms: int = 3_600_000) -> None:
        """Run until no work remains or ``max_ms`` have passed."""
        until = self.now_ms + max_ms
        while True:
            self.work_off()
            due = self.store.next_due()
            if due is None or due > until:
                return
            self.now_ms = max(self.now_ms, due)

    # -- assertions ------------------------------------------------------------------------------------------------

    def record(self, uuid: str) -> InstanceRecord:
        return self.store.get([uuid])[uuid]

    def migration(self, uuid: str) -> MigrationRecord:
        """Return the last migration of an instance, as both records have it."""
        migration = self.record(uuid).migration
        assert migration is not None
        (stored,) = self.store.migrations([migration.uuid]).values()
        assert replace(stored, sequence=0, created_ms=0, updated_ms=0) == migration
        return migration

    def reason(self, uuid: str) -> str:
        return self.record(uuid).reason or ""

    def statuses(self, uuids: Iterable[str]) -> list[str]:
        return [self.record(uuid).status.value for uuid in uuids]

    def check(self, uuids: Iterable[str]) -> None:
        """Assert that every instance has a correct final state and that no claim is leaked."""
        live = self.ledger.live()
        for uuid in uuids:
            self.check_instance(uuid, live.pop(uuid, None))
            migration = self.record(uuid).migration
            if migration is not None:
                self.check_source(migration, live.pop(migration.uuid, None))
        assert live == {}
        problems = self.ledger.problems()
        assert not problems, problems

    def check_source(self, migration: MigrationRecord, claim: tuple[str, int, str] | None) -> None:
        """Assert that a migration holds its source, stopped, or nothing once it has ended."""
        if migration.has_ended:
            assert claim is None, migration
        else:
            assert (migration.instance, migration.source_attempt) in self.hosts.stopped
            assert claim == (migration.source_host, migration.source_attempt, "confirmed")

    def check_instance(self, uuid: str, claim: tuple[str, int, str] | None) -> None:
        """Assert that an instance's record is final, and agrees with its guests and its live claim."""
        record, guests = self.record(uuid), self.hosts.guests_of(uuid)
        if record.open_migration is not None:
            source = record.move
            assert (source.source_host, source.source_attempt) in guests
            guests.remove((source.source_host, source.source_attempt))
        if record.status == "ACTIVE":
            assert guests == [(record.host, record.attempt)]
            assert claim == (record.host, record.attempt, "confirmed")
            assert record.reason is None and not record.is_shelved and (uuid, record.attempt) not in self.hosts.stopped
        elif record.status == "SHELVED_OFFLOADED":
            assert (guests, claim, record.host, record.is_shelved) == ([], None, None, True), record
        elif record.status == "VERIFY_RESIZE":
            assert record.open_migration is not None and record.move.status == "finished"
            assert guests == [(record.host, record.attempt)]
            assert claim == (record.host, record.attempt, "confirmed")
            assert ((uuid, record.attempt) in self.hosts.stopped) == record.move.was_stopped
        elif record.status in ("SHUTOFF", "SHELVED"):
            assert guests == [(record.host, record.attempt)] and (uuid, record.attempt) in self.hosts.stopped
            assert claim == (record.host, record.attempt, "confirmed")
        else:
            assert record.status in ("ERROR", "DELETED"), record
            assert (record.status == "ERROR") == bool(record.reason)
            if "claim kept" not in (record.reason or ""):
                assert (guests, claim) == ([], None), record


SPEC = objects.RequestSpec.of(resources={"VCPU": 1}, flavor="tiny")
LARGE = objects.RequestSpec.of(resources={"VCPU": 2}, flavor="large")
THREE = {"h1/n": 4, "h2/n": 4, "h3/n": 4}


def uuid_list(count: int) -> list[str]:
    return [f"00000000-0000-4000-8000-{number:012}" for number in range(count)]


def move_of(uuid: str, series: int = 1) -> str:
    """Return the uuid of a migration of an instance of uuid_list."""
    return f"{series:08}{uuid[8:]}"


def migration_of(uuid: str, number: int = 1) -> str:
    """Return the uuid of a migration of an instance."""
    return f"{number:08}{uuid[8:]}"


def history(cluster: SimulatedCluster, uuid: str) -> list[tuple[int, str, str]]:
    return [(entry["attempt"], entry["host"], entry["outcome"]) for entry in cluster.record(uuid).history]
