# SPDX-License-Identifier: Apache-2.0
"""Real conductors' sagas and agents on real stores, whose messages, deaths and epochs a test orders as it likes."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compute_agent.attempts.saga import REMIND_ALL_MS
from compute_agent.host_identity import HostIdentity
from conductor.admission import INSTANCES, count_amounts, total_amounts
from conductor.reconciliation import vouching
from conductor.requests import moves
from conductor.requests.evacuation import evacuate
from conductor.requests.moves import confirm, revert
from conductor.requests.requested_changes import apply_to_migrations
from conductor.resized_spec import larger_amounts
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimRole, ClaimState
from rpcapi.resources.statuses import InstanceStatus, MigrationKind
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.reports import COMPUTE
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import FOREVER_MS, PARTITION, Ledger
from tests.support.conductor.live_cluster import CONVERGES, HOSTS, LiveCluster, nodes_of
from tests.support.conductor.partitions import WEST, LedgerPartition, Ledgers, RoutedScheduler
from tests.support.conductor.simulated_cluster import CTXT, LIMITS, Crash, KillSwitch, uuid_list
from tests.support.simulation.faults import STEPS, Fault
from tests.support.simulation.moves_hosts import LOST_ANSWER, LOST_REPORT, AuditedClaims, MovesHosts
from tests.support.simulation.promises import PromiseBroken, require
from tests.support.store.store_partition import StorePartition

MOVES = ("migrate", "resize", "live-migrate", "evacuate")
CHANGES = ("stop", "start", "reboot", "rebuild", "shelve", "offload", "unshelve")
# For request_any: those of which an instance can follow few come first, and those with many steps more than once.
REQUESTS = (
    *("revert", "unshelve", "confirm", "live-migrate", "migrate", "revert", "unshelve", "resize", "evacuate"),
    *("live-migrate", "shelve", "unshelve", "revert", "migrate", "offload", "start", "stop", "rebuild", "delete"),
)
RECORDS = "records"  # the conductors' store
ENDS_COPY = ("shelve", "offload")  # the image that was taken remains
MINUTE_MS = 60_000
LONG_SAGA = 30  # steps, in which a saga gets to the end of any operation
SLOTS = 2  # instances at a time; few, so that they meet
FLAVORS = {
    f"m1.{vcpus}": objects.RequestSpec.of(resources={"VCPU": vcpus, "MEMORY_MB": 1024}, flavor=f"m1.{vcpus}")
    for vcpus in (1, 2, 3)
}
SPEC = FLAVORS["m1.1"]
# What goes wrong on a host: a field of HostProfile that is 1.0 then.
FAILURES = (
    *("refusal_rate", "spawn_failure_rate", "migration_check_failure_rate", "copy_failure_rate"),
    "post_migration_failure_rate",
)
SETTLED = (SagaStep.DONE, SagaStep.VERIFY)
ENDING = (SagaStep.TERMINATE, SagaStep.END_SOURCE)


class Progress(NamedTuple):
    """How far sagas get before a fault strikes: so many steps of instances begin, or until one begins ``until``."""

    steps: int
    crashes: bool  # the conductor
    until: str = ""

    @property
    def most(self) -> int:
        """The number of steps that may begin."""
        return LONG_SAGA if self.until else self.steps


class MovesCluster(LiveCluster):
    """Three hosts, an instance in each slot, and moves of all kinds; nothing happens by itself.

    An instance that was deleted is followed by another one in its slot. Claims are in ``partition``, those of
    ``west_hosts`` in the partition ``west``. Cold moves may leave their partition.
    """

    def __init__(
        self,
        folder: Path,
        partition: StorePartition,
        slots: int = SLOTS,
        *,
        west: StorePartition | None = None,
        west_hosts: Sequence[str] = (),
    ) -> None:
        self.partition = partition
        self._west, self._west_hosts = west, west_hosts
        self.consumers: dict[str, list[str]] = {}  # by instance: its uuid, and those of its migrations
        self.slots = [""] * slots
        self.hits = Counter(dict.fromkeys(itertools.product(Fault, STEPS), 0))
        self.last: dict[str, Callable[[], None]] = {}  # by instance, the last request to move it
        self._folders = itertools.count(1)
        self._record_mark: bytes | None = None
        self._crossing: dict[str, str] = {}  # in that state, the migrations across partitions by instance
        self._has_forgotten = False  # claims that were released may be back until their hosts have audited
        self._has_forgotten_records = False  # records may be wrong until they are compared with the claims
        self.unverified: list[tuple[str, objects.ClaimRefs]] = []
        self._copied: set[str] = set()  # instances with a copy that nobody asked to end
        self._forgotten_ends: set[str] = set()  # whose records forgot a message that ends a copy
        self._offloads: dict[str, int] = {}  # number of the message that ends the copies of an offloaded instance
        self._deleted: set[str] = set()  # instances that a caller deleted; the conductors' store may have forgotten it
        own_hosts = [host for host in HOSTS if host not in west_hosts]
        super().__init__(folder, LIMITS, partition.store, own_hosts)
        self.add_conductor()
        for slot in range(slots):
            self._boot(slot)

    def _make_hosts(self, folder: Path) -> MovesHosts:
        return MovesHosts(self, folder)

    def _make_claims(self) -> AuditedClaims:
        """Make the partitions, and return the claims service of the first one."""
        self.partitions = [LedgerPartition(PARTITION, self.partition, self.ledger)]
        if self._west is not None:
            ledger = Ledger(nodes_of(self._west_hosts), lambda: self.now_ms, self._west.store)
            self.partitions.append(LedgerPartition(WEST, self._west, ledger))
            self.ledger: Any = Ledgers({partition.name: partition.ledger for partition in self.partitions})
            self.scheduler = RoutedScheduler(self.partitions)
        self._services = {partition.name: self._make_service(partition) for partition in self.partitions}
        return self._services[PARTITION]

    def _make_service(self, partition: LedgerPartition) -> AuditedClaims:
        return AuditedClaims(self, partition)

    @property
    def _is_divided(self) -> bool:
        return self._west is not None

    def partition_of(self, host: str) -> LedgerPartition:
        """Return the partition of a host."""
        return self.partitions[-1] if host in self._west_hosts else self.partitions[0]

    def claims_at(self, host: str) -> AuditedClaims:
        return self._services[self.partition_of(host).name]

    def claims_of(self, partition: str) -> AuditedClaims:
        return self._services[partition]

    def live_claims(self) -> list[Any]:
        """Return the live claims of all partitions."""
        return [claim for partition in self.partitions for claim in partition.store.claims()[0]]

    def add_conductor(self, kill_switch: KillSwitch | None = None) -> None:
        """Add a conductor in front of the others, which follow when it is killed."""
        self.conductor(kill_switch)
        self.conductors.insert(0, self.conductors.pop())

    def close(self) -> None:
        """Close the agents' files and the stores of claims."""
        for rig in self.hosts.rigs.values():
            rig.stop()
        for partition in self.partitions:
            partition.store.close()

    # -- requests --------------------------------------------------------------------------------------------------

    def move(self, kind: str, slot: int, target: str | None, flavor: objects.RequestSpec) -> None:
        """Request a move of a kind by a migration of its own."""
        uuid = self.slots[slot]
        migration = f"{len(self.consumers[uuid]):08}{uuid[8:]}"
        self.consumers[uuid].append(migration)
        calls: dict[str, Callable[[Any], None]] = {
            "migrate": lambda conductor: moves.migrate(
                conductor, CTXT, [uuid], [migration], target, allow_cross_cell=self._is_divided
            ),
            "resize": lambda conductor: moves.resize(
                conductor, CTXT, [uuid], [migration], [flavor], allow_cross_cell=self._is_divided
            ),
            "live-migrate": lambda conductor: moves.live_migrate(conductor, CTXT, [uuid], [migration], target),
            "evacuate": lambda conductor: evacuate(conductor, CTXT, [uuid], [migration], target),
        }
        self.last[uuid] = lambda: self._retry_call(calls[kind])
        self._request(uuid, self.last[uuid])

    def repeat_move(self, slot: int) -> None:
        """Repeat the last request to move an instance."""
        uuid = self.slots[slot]
        if uuid in self.last:
            self.hit(Fault.REPEATED_REQUEST, uuids=[uuid])
            self._request(uuid, self.last[uuid])

    def moves_live(self, slot: int) -> bool:
        """Return whether the last move of an instance is a live migration."""
        migration = self.record(self.slots[slot]).migration
        return migration is not None and migration.kind == MigrationKind.LIVE

    def end_move(self, verb: str, slot: int) -> None:
        """Confirm, revert, abort or force-complete the last move that was requested and recorded."""
        uuid = self.slots[slot]
        migrations = [migration.uuid for migration in [self.record(uuid).migration] if migration is not None]
        calls: dict[str, Callable[[Any], None]] = {
            "confirm": lambda conductor: apply_to_migrations(conductor, migrations, confirm, "confirm"),
            "revert": lambda conductor: apply_to_migrations(conductor, migrations, revert, "revert"),
            "abort": lambda _conductor: self.abort(migrations),
            "force": lambda _conductor: self.force_complete(migrations),
        }
        self._request(uuid, lambda: self._retry_call(calls[verb]))

    def change(self, verb: str, slot: int) -> None:
        """Request one of CHANGES for an instance."""
        uuid = self.slots[slot]
        request: Callable[[list[str]], None] = getattr(self, verb)
        if verb in ENDS_COPY:
            self._copied.discard(uuid)
        self._request(uuid, lambda: request([uuid]))
        if verb in ENDS_COPY:
            self._offloads[uuid] = self.record(uuid).transition_number

    def delete(self, uuids: list[str]) -> None:
        self._deleted |= set(uuids)
        self._copied -= self._deleted
        super().delete(uuids)

    def delete_one(self, slot: int) -> None:
        """Delete an instance; one that is deleted already is followed by a new one."""
        uuid = self.slots[slot]
        self.delete([uuid])
        if self.record(uuid).status == InstanceStatus.DELETED:
            self._boot(slot)

    def put_allocations(self, slot: int, *, is_elsewhere: bool) -> None:
        """Let a client of Placement's API put less than an instance's claim has, or the same on another host."""
        for partition in self.partitions:
            self._put_allocations(partition, self.slots[slot], is_elsewhere)

    def _put_allocations(self, partition: LedgerPartition, uuid: str, is_elsewhere: bool) -> None:
        for claim in partition.store.read_allocations([uuid]).values():
            nodes = [name for name in partition.ledger.nodes if (name != claim.host) == is_elsewhere]
            if not nodes:
                continue
            amounts = total_amounts(claim.allocations) if is_elsewhere else {"VCPU": 1}
            change = AllocationChange(uuid, {nodes[0]: amounts}, claim.project, claim.user, claim.generation)
            partition.store.allocate([change])
            for host, guest in self.hosts.running():
                attempt = self.hosts.attempt(host, guest.ref)
                if tuple(guest.ref) != tuple(claim.ref) or attempt is None or not _covers(claim, attempt.allocations):
                    continue
                (after,) = partition.store.read_allocations([uuid]).values()
                require(3, _covers(after, attempt.allocations), f"{guest} runs on {host}, and a PUT left it {after}")

    def request_any(self, number: int, slot: int) -> None:
        """Request the first of REQUESTS that the instance can follow now, from that number on.

        Its host loses its power and is fenced before an evacuation.
        """
        before = self.record(self.slots[slot])
        flavor = FLAVORS[sorted(FLAVORS)[number % len(FLAVORS)]]
        for index in range(len(REQUESTS)):
            verb = REQUESTS[(number + index) % len(REQUESTS)]
            if verb == "evacuate" and before.host and before.step == SagaStep.DONE:
                self.power_off(names.host_of(before.host))
            if verb in MOVES:
                self.move(verb, slot, None, flavor)
            elif verb in CHANGES:
                self.change(verb, slot)
            elif verb == "delete":
                self.delete_one(slot)
            else:
                self.end_move(verb, slot)
            if self.record(self.slots[slot]) != before:
                return

    def run_steps(self, progress: Progress) -> None:
        """Run for so many steps, or a minute; a conductor that crashes does so as the last step begins."""
        count, crashes = progress.most, progress.crashes
        if crashes:
            self.add_conductor(None if count else KillSwitch(2, after=True))  # after it read the step that is due
        begun = 0

        def write(plain_write: Callable[..., Any], *args: Any, **values: Any) -> Any:
            nonlocal begun
            before, left = self._steps(), count - begun
            result = plain_write(*args, **values)
            begun += max(left, 0) if progress.until in self._steps() else self._steps() != before
            # Another conductor writes while an agent is suspended.
            if crashes and left > 0 and begun >= count and not self.hosts.suspended:
                raise Crash
            return result

        with pytest.MonkeyPatch.context() as patch:
            for name in ("write", "write_without_lease"):
                patch.setattr(self.store, name, functools.partial(write, getattr(self.store, name)))
            until_ms = self.now_ms + MINUTE_MS
            while begun < count and (self.work() or self.hosts.deliver() or self.fire_next(until_ms)):
                self.check_runs_once()
        if not (crashes and count):
            self.work()  # the messages of the last step are on their way

    def _steps(self) -> list[SagaStep]:
        return [record.step for record in self.store.get(self.slots).values()]

    def _boot(self, slot: int) -> None:
        uuid = uuid_list(len(self.consumers) + 1)[-1]
        self.slots[slot], self.consumers[uuid] = uuid, [uuid]
        self._record_mark = None  # a forgotten boot leaves what only an operator can adopt or end
        self.build([uuid], SPEC)

    def _request(self, uuid: str, call: Callable[[], None]) -> None:
        """Send a request about an instance; one that is refused changes nothing."""
        before = self.record(uuid)
        try:
            call()
        except errors.GanttError:
            assert self.record(uuid) == before, "a refused request changed the record"

    # -- faults ----------------------------------------------------------------------------------------------------

    def hit(self, fault: Fault, host: str = "", uuids: Sequence[str] = ()) -> None:
        """Count a fault for each of these instances that is in a saga step; by default all.

        A fault of a host hits those of the host, which is the host of their record or the source of their move, and
        those without any host.
        """
        for record in self.store.get(uuids or self.slots).values():
            move = record.open_migration or record.evacuation
            hosts = {names.host_of(name) for name in (record.host, move and move.source_host) if name}
            if record.step in STEPS and (not host or not hosts or host in hosts):
                self.hits[fault, record.step] += 1

    def _lose_conductor(self) -> None:
        self.hit(Fault.CONDUCTOR_CRASH)
        super()._lose_conductor()

    def fire_next(self, until: float = math.inf) -> bool:
        before_ms = self.now_ms
        has_fired = super().fire_next(until)
        records = self.store.get(self.slots).values()
        late = [record.uuid for record in records if before_ms < record.wake_ms <= self.now_ms]
        if late:
            self.hit(Fault.TIMER, uuids=late)
        return has_fired

    def power_off(self, host: str) -> None:
        """Power a host off and fence it."""
        if host not in self.hosts.fenced:
            self.hit(Fault.FENCE, host)
        self.hosts.off.add(host)
        self._fence_copies(host)
        self.fence(host)
        self._drop_mark(host)

    def _drop_mark(self, host: str) -> None:
        """Let no store forget a fence: it believes the host that reports first then, see ADR 0187."""
        self.partition_of(host).mark = None

    def lose_power(self, host: str) -> None:
        """Power a host off; nobody fences it."""
        if host not in self.hosts.off:
            self.hit(Fault.POWER_LOSS, host)
        self.hosts.off.add(host)
        self.hosts.kill(host)

    def suspend(self, host: str, steps: int, seconds: int, *, is_fenced: bool) -> None:
        """Suspend the agent of a host after a number of its steps, one at a time, and fence it meanwhile.

        0 steps: now, while it does nothing.
        """
        if not steps:
            self._pass_suspension(host, seconds, is_fenced)
            return
        self.hosts.switches[host].suspend_after(steps, lambda: self._pass_suspension(host, seconds, is_fenced))

    def _pass_suspension(self, host: str, seconds: int, is_fenced: bool) -> None:
        if self.hosts.suspended or host in self.hosts.dead:
            return
        self.hit(Fault.SUSPENSION, host)
        resumes_ms = self.now_ms + 1000 * seconds
        self.hosts.suspended.add(host)
        self.hosts.dead.add(host)
        self.scheduler.down.add(host)
        if is_fenced:
            self._fence_suspended(host)
        self.settle(1000 * seconds)
        self.now_ms = max(self.now_ms, resumes_ms)
        self.hosts.silence[host] += seconds
        self.hosts.suspended.discard(host)
        self.hosts.dead.discard(host)
        self.scheduler.down.discard(host)

    def _fence_suspended(self, host: str) -> None:
        """Fence a host that does not answer, without powering it off, and evacuate its instances."""
        self.hit(Fault.SUSPENDED_FENCE, host)
        self._fence_copies(host)
        self.hosts.outlasting |= {(where, *guest.ref) for where, guest in self.hosts.running() if where == host}
        self.claims_at(host).store.fence(host, f"token-{self.now_ms}", force=True)
        self._drop_mark(host)
        self.compare()
        for slot, uuid in enumerate(self.slots):
            if names.host_of(self.record(uuid).host or "") == host:
                self.move("evacuate", slot, None, SPEC)

    def meet_namesake(self, host: str) -> None:
        """Let a machine with an empty state folder act under the name of a host, and own the name if it may."""
        self.hit(Fault.NAMESAKE, host)
        folder = self.hosts.rigs[host].folder.parent / f"{host}-{next(self._folders)}"
        folder.mkdir()
        stranger = HostIdentity(folder, host).uuid
        if host in self.hosts.dead:
            self._let_count_as_down(host)
        store, epoch = self.claims_at(host).store, self.claims_at(host).epoch
        before = store.claims()[0]
        try:
            self.register(host, stranger)
        except errors.HostIdentityConflict:
            on_host = [claim.ref for claim in before if names.host_of(claim.host) == host]
            refs = [ref for ref in on_host if ref.consumer in self.consumers] or [ClaimRef(self.slots[0], 1)]
            calls: tuple[Callable[[], Any], ...] = (
                lambda: store.audit(host, epoch, [], 0, host_uuid=stranger),
                lambda: store.release(host, refs, host_uuid=stranger),
                lambda: store.confirm(host, refs, host_uuid=stranger),
            )
            require(2, all(map(_is_foreign, calls)), f"a namesake of {host} was believed")
            require(2, store.claims()[0] == before, f"a namesake of {host} changed claims")
            return
        ended = host in self.hosts.fenced  # its guests, although its agent may not know it yet
        left = [guest for where, guest in self.hosts.guests() if where == host and not ended]
        require(2, not left, f"a namesake of {host} owns its name, while the machine has {left}")
        rig = self.hosts.rigs[host]
        rig.stop()
        rig.folder, rig.scheduler.owners[host] = folder, stranger
        self.hosts.start(host)
        self.partition_of(host).mark = None  # a store that forgets the new owner refuses it until `gantt host replace`

    def _let_count_as_down(self, host: str) -> None:
        """Let a host that does not report count as down; the others report."""
        partition = self.partition_of(host)
        partition.backend.wait_until(partition.backend.time() + 2)
        partition.store.reap(dead_after_ms=1, tombstone_ms=FOREVER_MS)
        for other in HOSTS:
            if other != host and other not in self.hosts.dead and self.partition_of(other) is partition:
                partition.store.heartbeat(other, COMPUTE)

    def begin_epoch(self, host: str = HOSTS[0]) -> None:
        """Let the claims' store of a host begin an epoch, as after a possible loss."""
        self.hit(Fault.CLAIMS_EPOCH)
        self.partition_of(host).backend.new_epoch()

    def mark(self, host: str | None = None) -> None:
        """Record the state of the claims' store of a host, by default of all, as replicas that lag behind have it."""
        for partition in self.partitions if host is None else [self.partition_of(host)]:
            partition.mark = partition.backend.mark()

    def forget(self, host: str = HOSTS[0]) -> None:
        """Restore the recorded state of the claims' store of a host, as a failover to that replica does."""
        partition = self.partition_of(host)
        if partition.mark is not None:
            self.hit(Fault.LOST_CLAIMS)
            partition.backend.forget_since(partition.mark)
            self._has_forgotten = True
        partition.mark = None

    def forget_together(self, stores: Sequence[str]) -> None:
        """Restore the recorded states of stores at one moment: RECORDS, or those of hosts' partitions.

        No loss of all stores is from the middle of one migration across partitions into the next: then an instance may
        run twice, see docs/failures.md, "restored from a backup".
        """
        if len(stores) > len(self.partitions) and self._is_in_next_migration():
            return
        for store in stores:
            if store == RECORDS:
                self.forget_records()
            else:
                self.forget(store)

    def _is_in_next_migration(self) -> bool:
        """Return whether an instance is in another migration than the one across partitions of the recorded state."""
        return any(
            record.open_migration is not None and record.move.uuid != self._crossing[uuid]
            for uuid, record in self.store.get(list(self._crossing)).items()
        )

    def mark_records(self) -> None:
        """Record the state of the conductors' store."""
        self._record_mark = self.copy_records()
        self._crossing = {
            uuid: record.move.uuid
            for uuid, record in self.store.get(self.slots).items()
            if record.open_migration is not None and record.move.source_partition != record.partition
        }

    def forget_records(self) -> None:
        """Restore the recorded state of the conductors' store; the claims and the agents forget nothing."""
        if self._record_mark is not None:
            self.hit(Fault.LOST_RECORDS)
            self._forgotten_ends |= self._ending()
            self.restore_records(self._record_mark)
            self._has_forgotten_records = True
            # What a restored record was about to end, it ends again.
            self._copied = {uuid for uuid in self._copied if self._rests_active(uuid) or self._awaits_confirm(uuid)}
        self._record_mark = None

    def fail(self, host: str, failure: str | None) -> None:
        """Let a phase fail on a host from now on, None: nothing; or the next report, or the answer to it, be lost."""
        if failure in (LOST_REPORT, LOST_ANSWER):
            self.hosts.report_fate = failure
            return
        self.hosts.rigs[host].profile = replace(CONVERGES, **{failure: 1.0}) if failure else CONVERGES  # type: ignore[arg-type]

    def audit(self, host: str) -> None:
        """Let a host audit, and the conductor check what is unverified."""
        self.hosts.audit(host)
        self._vouch()
        self.check_audited(host)

    def _vouch(self) -> None:
        """Check the unverified claims of the last audits."""
        unverified, self.unverified = self.unverified, []
        for host, refs in unverified:
            name = self.partition_of(host).name
            vouching.check(make_conductor(self.store, self.clients()), name, host, refs)

    def _fence_copies(self, host: str) -> None:
        """Note that a fence of the host ends the copies there: instances without a copy elsewhere lose theirs.

        A copy elsewhere does not count if the message that ends it is on its way.
        """
        self.hosts.fenced.add(host)
        copies = self._copies()
        self._copied &= {uuid for uuid in copies if copies[uuid] - self.hosts.fenced}
        ending = self._ending() | self._forgotten_ends
        self._copied -= {uuid for uuid in ending if host in copies.get(uuid, ())}

    def _ending(self) -> set[str]:
        """Return the instances to whose hosts a message is on its way that ends a copy."""
        records = self.store.get(list(self._copied))
        return {uuid for uuid, record in records.items() if record.step in ENDING and record.wake_ms > self.now_ms}

    # -- what must hold --------------------------------------------------------------------------------------------

    def check_runs_once(self) -> None:
        """Assert that each instance runs on at most one host, and only on that of its record where that is at rest."""
        running: dict[str, list[tuple[str, int]]] = {}
        for host, guest in self.hosts.running():
            # The exception of docs/failures.md: it ran already when its machine was fenced and not powered off.
            if (host, *guest.ref) not in self.hosts.outlasting:
                running.setdefault(guest.uuid, []).append((host, guest.attempt))
        for uuid, guests in running.items():
            require(1, len(guests) == 1, f"{uuid} runs as {guests}")
        if self._has_forgotten_records:
            return
        for uuid, record in self.store.get(list(running)).items():
            hosts = {host for host, _attempt in running[uuid]}
            is_elsewhere = hosts - {names.host_of(record.guest_host or "")}
            is_right = not is_elsewhere or record.step not in SETTLED
            require(4, is_right, f"{uuid} runs on {hosts}, and its record rests as {record}")

    def check_always(self) -> None:
        """Assert what holds at any moment."""
        self.check_runs_once()
        self._check_last_copies()
        assert self.ledger.problems() == []
        if not self._has_forgotten and not self._has_forgotten_records:
            self._check_ended_migrations()

    def _copies(self) -> dict[str, set[str]]:
        """Return the hosts with a copy of each instance; a paused guest may still lack its memory."""
        copies: dict[str, set[str]] = {}
        for host, guest in self.hosts.guests():
            if not guest.is_paused:
                copies.setdefault(guest.uuid, set()).add(host)
        return copies

    def _rests_active(self, uuid: str) -> bool:
        record = self.store.get([uuid]).get(uuid)
        return record is not None and (record.status, record.step) == (InstanceStatus.ACTIVE, SagaStep.DONE)

    def _awaits_confirm(self, uuid: str) -> bool:
        record = self.store.get([uuid]).get(uuid)
        return record is not None and record.status == InstanceStatus.VERIFY_RESIZE and record.step in SETTLED

    def _may_be_offloaded(self, uuid: str) -> bool:
        """Return whether a requested offload, which the record may have forgotten, may still end the copies."""
        attempts = [self.hosts.attempt(host, guest.ref) for host, guest in self.hosts.guests() if guest.uuid == uuid]
        number = self._offloads.get(uuid)
        return number is not None and all(attempt is None or attempt.transition <= number for attempt in attempts)

    def _check_last_copies(self) -> None:
        """Assert that each instance that was ACTIVE has a copy, unless a caller asked to end it."""
        copies = self._copies()
        for uuid in sorted(self._copied):
            paused = [host for host, guest in self.hosts.guests() if guest.uuid == uuid]
            require(2, uuid in copies or paused, f"the last copy of {uuid} was removed: {self.record(uuid)}")
        # On a fenced host a copy ends as soon as the host returns, though the record may not show it yet.
        lasting = {uuid for uuid, hosts in copies.items() if hosts - self.hosts.fenced}
        resting = {uuid for uuid in lasting - self._deleted if self._rests_active(uuid)}
        self._copied |= {uuid for uuid in resting if not self._may_be_offloaded(uuid)}

    def check_audited(self, host: str, *, is_verified: bool = False) -> None:
        """Assert that what runs on a host that has just audited is covered by its claims.

        A claim that contradicts the store is unverified until the record decides; ``is_verified``: it has decided.
        """
        if host in self.hosts.dead:
            return
        claims = self.live_claims() if is_verified else self.partition_of(host).store.claims()[0]
        by_ref = {claim.ref: claim for claim in claims if names.host_of(claim.host) == host}
        for where, guest in self.hosts.running():
            if where != host or self.hosts.attempt(host, guest.ref) is None:
                continue
            claim = by_ref.get(ClaimRef(*guest.ref))
            require(3, claim is not None, f"{guest} runs on {host} without a claim")
            assert claim is not None
            if claim.state == ClaimState.UNVERIFIED and not is_verified:
                continue
            require(3, claim.state == ClaimState.CONFIRMED, f"{guest} runs on {host} under {claim}")
            used = self.hosts.attempt(host, guest.ref).allocations
            require(3, _covers(claim, used), f"{guest} on {host} uses {used}, and {claim} has less")
            others = [
                other
                for other in claims
                if other.ref.consumer == guest.uuid and other.state == ClaimState.CONFIRMED and other.ref != claim.ref
            ]
            require(3, all(_are_ends(claim, other) for other in others), f"{guest} runs on {host}, but {others}")

    def _check_ended_migrations(self) -> None:
        """Assert that no migration that has ended has a claim."""
        live = self.ledger.live()
        for consumers in self.consumers.values():
            ended = [record for record in self.store.migrations(consumers[1:]).values() if record.has_ended]
            leaked = [(record, live[record.uuid]) for record in ended if record.uuid in live]
            require(3, not leaked, f"migrations that have ended have claims: {leaked}")

    def repair(self) -> None:
        """Repair all hosts, start those that are down, and let everything end that can within a minute."""
        for host in HOSTS:
            self.fail(host, None)
            if host in self.hosts.dead:
                self.hosts.start(host)
            self.hosts.audit(host)
        self._vouch()
        self.settle(MINUTE_MS)

    def rest(self, order: Sequence[str] = HOSTS) -> None:
        """Repair all hosts in this order, let everything end, and check what is left."""
        for host in order:
            self.fail(host, None)
            self.hosts.start(host)
        for _ in range(3):
            self.now_ms += REMIND_ALL_MS
            for host in order:
                self.hosts.audit(host)
                self.hosts.remind(host)
            self._vouch()
            self.settle()
            self.compare()
        self.settle()
        if self._has_forgotten_records:
            self._expire_forgotten()
            self._delete_again()
        self._check_rest()

    def _expire_forgotten(self) -> None:
        """Let prepared claims expire, whose requests the conductors' store forgot: nobody confirms or aborts them."""
        for partition in self.partitions:
            for claim in partition.store.claims()[0]:
                if claim.state == ClaimState.PREPARED:
                    partition.backend.pass_deadline_of(claim.consumer)
            partition.store.reap(dead_after_ms=FOREVER_MS, tombstone_ms=FOREVER_MS)

    def _delete_again(self) -> None:
        """Repeat forgotten deletions whose agents died between the guest's end and its record (docs/failures.md)."""
        guests = {guest.uuid for _host, guest in self.hosts.guests()}
        for uuid in sorted(self._deleted - guests):
            if self.record(uuid).status != InstanceStatus.DELETED:
                self.delete([uuid])
        self.settle()

    def _check_rest(self) -> None:
        """Assert that every instance is exactly where its record says, or in ERROR, and that nothing else is left."""
        self._has_forgotten = self._has_forgotten_records = False
        self.check_always()
        records = {uuid: self.record(uuid) for uuid in self.consumers}
        for record in records.values():
            require(4, record.step in SETTLED, f"transient after all hosts audited and all timers fired: {record}")
        for host, guest in self.hosts.running():
            record = records[guest.uuid]
            require(4, record.status != InstanceStatus.ERROR, f"{guest} runs on {host}, and in ERROR is {record}")
        for host in HOSTS:
            self.check_audited(host, is_verified=True)
        guests = {tuple(guest.ref) for _host, guest in self.hosts.guests()}
        claims = {tuple(claim.ref) for claim in self.live_claims()}
        require(3, guests <= claims, f"guests without claims: {guests - claims}")
        assert guests == claims, f"claims without guests: {claims - guests}"
        try:
            self.check(self.consumers)
        except AssertionError as failure:
            raise PromiseBroken(
                3, f"guests {sorted(guests)} and {self.ledger.live()} contradict {records}"
            ) from failure
        self._check_amounts(records)

    def _check_amounts(self, records: Mapping[str, InstanceRecord]) -> None:
        """Assert that each record counts what its claims have: during a move, the larger amount of each class."""
        claimed: dict[str, dict[str, int]] = {}
        for claim in self.live_claims():
            total = total_amounts(claim.allocations)
            claimed[claim.ref.consumer] = larger_amounts(claimed.get(claim.ref.consumer, {}), total)
        for uuid, amounts in claimed.items():
            counted = {**(records[uuid].amounts or count_amounts(SPEC))}
            del counted[INSTANCES]
            assert counted == amounts, f"{records[uuid]} does not count {amounts}"


def _is_foreign(call: Callable[[], Any]) -> bool:
    """Return whether a call is refused as that of a namesake."""
    try:
        call()
    except errors.HostIdentityConflict:
        return True
    return False


def _covers(claim: Any, used: Mapping[str, Mapping[str, int]]) -> bool:
    """Return whether a claim has at least the amounts that a guest uses."""
    return all(
        claim.allocations.get(provider, {}).get(name, 0) >= amount
        for provider, amounts in used.items()
        for name, amount in amounts.items()
    )


def _are_ends(claim: Any, other: Any) -> bool:
    """Return whether two claims are the ends of one migration."""
    ends = {claim.role, other.role} == {ClaimRole.SOURCE, ClaimRole.DESTINATION}
    return ends and claim.move == other.move
