# SPDX-License-Identifier: Apache-2.0
"""Test rig for the agent of one service host, with manual queues and clock, and a kill at any step."""

import functools
import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.attempts.audit import HostAuditor
from compute_agent.attempts.builder import terminate
from compute_agent.attempts.calls import ServiceCalls
from compute_agent.attempts.copies import GuestCopy, apply_copies
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.attempts.isolation import AuditDuty
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from compute_agent.attempts.operations import GuestOperation, apply_operations
from compute_agent.attempts.saga import AttemptSaga
from compute_agent.attempts.transitions import GuestTransition, apply_transitions
from compute_agent.host_identity import HostIdentity
from compute_agent.resources.nodes import Node
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.shapes import NodeShape
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.runtime.executor import Job
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.runtime.schedules import AgentIntervals, ReportSchedule
from compute_agent.runtime.service_host import ServiceHost
from compute_agent.simulator.faults import FaultInjector
from compute_agent.simulator.hypervisor import Guest, Hypervisor
from compute_agent.simulator.load import SimulatedLoad
from compute_agent.simulator.profile import HostProfile
from compute_agent.stamps import StampFile
from rpcapi import context
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.inventory import Inventory
from rpcapi.validation.moves import NO_MOVE
from tests.support.agent.fakes import FakeClaims, FakeConductor, FakeScheduler

CALL_SECONDS = 3600.0  # of real time, which a slow machine must not use up
HOST = "alpha"
SHAPE = NodeShape("test", {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192, reserved=512)}, ("HW_CPU_X86_AVX2",))
NODES = tuple(Node(f"{HOST}/node{number}", SHAPE, "zone1") for number in range(2))
RESOURCES = {"VCPU": 2, "MEMORY_MB": 1024}


@dataclass(frozen=True, slots=True)
class ScriptedProfile(HostProfile):
    """Profile that refuses and fails instances by their names."""

    def refuses(self, ref: AttemptRef) -> bool:
        return ref.uuid.startswith("refused")

    def spawn_fails(self, ref: AttemptRef) -> bool:
        return ref.uuid.startswith("failing")


class AgentKilled(BaseException):
    """Raised where the agent's process is killed."""


class KillSwitch:
    """Kills the agent at the ``at``-th step (0: never)."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise AgentKilled

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``call`` with a step before it and one after it."""

        def call_with_steps(*args: Any, **kwargs: Any) -> Any:
            self.step()
            answer = call(*args, **kwargs)
            self.step()
            return answer

        return call_with_steps


class KillableClient:
    """A client with two steps per call: one before sending, one before the answer arrives."""

    def __init__(self, service: Any, kill_switch: KillSwitch) -> None:
        self._service = service
        self._fuse = kill_switch

    def __getattr__(self, method: str) -> Any:
        return self._fuse.around(getattr(self._service, method))


class ManualClock:
    """A clock in milliseconds that a test advances."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


class _Timer:
    def __init__(self, job: Job | None) -> None:
        self.job = job

    def cancel(self) -> None:
        self.job = None


class ManualQueue:
    """A serial queue that runs jobs on request, and timers by the manual clock; its jobs may be those of ``other``."""

    def __init__(self, clock: ManualClock, other: "ManualQueue | None" = None) -> None:
        self._clock = clock
        self._jobs: deque[Job] = deque() if other is None else other._jobs
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def submit_after(self, seconds: float, job: Job) -> _Timer:
        timer = _Timer(job)
        heapq.heappush(self._timers, (self._clock.now + 1000 * seconds, next(self._order), timer))
        return timer

    def run(self) -> None:
        """Run all queued jobs."""
        while self._jobs:
            self._jobs.popleft()()

    def settle(self, timers: int = 200) -> None:
        """Run queued jobs and fire timers until nothing is left."""
        self.run()
        for _ in range(timers):
            if not self.waiting():
                return
            self.fire()
        raise AssertionError("the agent does not settle")

    def fire(self) -> None:
        """Advance the clock to the next timer, and run its jobs."""
        while True:
            when, _, timer = heapq.heappop(self._timers)
            if timer.job is not None:
                break
        self._clock.now = max(self._clock.now, round(when))
        timer.job()
        self.run()

    def next_ms(self) -> float | None:
        """Return when the next timer is due, None without one."""
        return min((when for when, _, timer in self._timers if timer.job is not None), default=None)

    def waiting(self) -> int:
        """Return the number of pending timers."""
        return sum(timer.job is not None for _, _, timer in self._timers)


class AgentRig:
    """One service host, fakes of the other services, and successive agents on its state folder."""

    def __init__(self, folder: Path, profile: HostProfile | None = None, host: str = HOST) -> None:
        self.folder = folder
        self.name = host
        self.profile = profile or HostProfile(boot_delay=1.0)
        self.clock = ManualClock()
        self.ledger: Any = FakeClaims()
        self.conductor: Any = FakeConductor()
        self.scheduler = FakeScheduler()
        self.nodes = NODES
        self.queue = ManualQueue(self.clock)
        self.report_queue = ManualQueue(self.clock)
        self.guest_manager: GuestManager | None = None
        self.restarts = 0  # number of requested restarts
        self.isolation_timeout = math.inf  # seconds; set it before the start
        self.isolation_clock: Callable[[], float] = lambda: self.clock.now / 1000
        self.leaves = 0  # number of requests to stop serving
        self.deaths = 0  # number of simulated losses of power
        self.check_folder: Callable[[], None] = lambda: None
        self.reports_at_once = True  # whether ``queue`` runs urgent reports as well, or only ``report_queue``

    def start(self, kill_switch: KillSwitch | None = None) -> ServiceHost:
        """Create an agent that takes over the state; ``kill_switch`` kills it."""
        kill_switch = kill_switch or KillSwitch()
        self.queue = ManualQueue(self.clock)
        self.report_queue = ManualQueue(self.clock, self.queue if self.reports_at_once else None)
        file = JournalFile(self.folder / "journal", self.name)
        hypervisor = Hypervisor(self.folder / "guests", lambda: self.profile, self.clock, self.clock)
        for owner, names in (
            (file, ("append", "rewrite")),
            (hypervisor, ("spawn", "stop", "power_off", "pause", "receive", "rebuild")),
        ):
            for name in names:
                setattr(owner, name, kill_switch.around(getattr(owner, name)))
        journal = Journal(file, retention_ms=3_600_000, clock=self.clock)
        duty = AuditDuty(self.isolation_timeout, self.isolation_clock)
        self.guest_manager = guest_manager = GuestManager(
            self.name, journal, ResourceTracker(self.nodes), hypervisor, duty
        )
        claims: Any = KillableClient(self.ledger, kill_switch)
        conductor: Any = KillableClient(self.conductor, kill_switch)
        scheduler: Any = KillableClient(self.scheduler, kill_switch)
        guest_manager.open()
        stamps = StampFile(self.folder / "stamp", "cell1")
        self.identity = HostIdentity(self.folder, self.name)
        calls = ServiceCalls(CALL_SECONDS).of_host(self.identity.uuid)
        self.auditor = HostAuditor(guest_manager, claims, calls, stamps)
        self.reporter = StatsReporter(
            guest_manager,
            partition="cell1",
            nodes=self.nodes,
            load=SimulatedLoad(self.name, self.nodes, guest_manager.tracker, lambda: self.profile),
            scheduler=scheduler,
            calls=calls,
            check_folder=self.check_folder,
            stamps=stamps,
            identity=self.identity,
        )
        self.host = ServiceHost(
            guest_manager,
            saga=AttemptSaga(guest_manager, claims, conductor, calls, lambda: self.reporter.reported_drops),
            auditor=self.auditor,
            make_reports=functools.partial(
                ReportSchedule,
                reporter=self.reporter,
                queue=self.report_queue,
                intervals=AgentIntervals,
                fault_injector=FaultInjector(self.name, lambda: self.profile),
                restart=lambda: self.queue.submit(self._restart),
                leave=self._leave,
            ),
            queue=self.queue,
            intervals=AgentIntervals,
            die=self._die,
        )
        return self.host

    def serve(self, kill_switch: KillSwitch | None = None) -> ServiceHost:
        """Start an agent, and audit as before serving."""
        host = self.start(kill_switch)
        self.auditor.audit(self.ledger.epoch)
        host.advance()
        return host

    def _restart(self) -> None:
        self.restarts += 1

    def _leave(self) -> None:
        self.leaves += 1

    def _die(self) -> None:
        self.deaths += 1

    def stop(self) -> None:
        """Close the files of the agent."""
        if self.guest_manager is not None:
            self.guest_manager.journal.close()

    def guests(self) -> dict[tuple[str, int], Guest]:
        """Return the guests according to their files."""
        hypervisor = Hypervisor(self.folder / "guests", lambda: self.profile, self.clock)
        hypervisor.open()
        return {guest.ref: guest for guest in hypervisor.list()}

    def intent(self, uuid: str, attempt: int = 1, node: int = 0, prepared: bool = True, **resources: int) -> Attempt:
        """Return an intent for one instance, with its claim prepared as by the scheduler."""
        name = f"{HOST}/node{node}"
        if prepared and (uuid, attempt) not in self.ledger.states:
            self.ledger.prepare(uuid, attempt, name)
        return Attempt(
            uuid=uuid,
            attempt=attempt,
            stage=Stage.INTENT,
            at_ms=self.clock.now,
            request_id="req-build",
            name=name,
            allocations={name: resources or RESOURCES},
            owner={"type": "INSTANCE", "project": "p", "user": "u", "request_id": "req-build"},
        )

    def build(self, *intents: Attempt, requirements: BuildRequirements = BuildRequirements()) -> None:  # noqa: B008 - it is frozen
        """Deliver a build message."""
        self.host.build(context.new("p", "u"), intents, requirements)

    def change(
        self,
        ref: tuple[str, int],
        action: str,
        role: ClaimRole | None = None,
        number: int = 2,
        *,
        migration: str = "m",
    ) -> None:
        """Deliver a message with one transition; with ``role`` it is about the migration."""
        move = NO_MOVE if role is None else MoveEnd(role, migration)
        transition = GuestTransition(AttemptRef(*ref), action, number, move)
        self.host.submit(context.new("p", "u"), apply_transitions, [transition])

    def operate(self, ref: tuple[str, int], action: str, number: int, image: str = "") -> None:
        """Deliver a message with one operation."""
        self.host.submit(
            context.new("p", "u"), apply_operations, [GuestOperation(AttemptRef(*ref), action, number, image)]
        )

    def receive(self, intent: Attempt, migration: str = "m") -> None:
        """Deliver a message to prepare an incoming guest."""
        self.build(replace(intent, role=ClaimRole.DESTINATION, migration=migration, source_attempt=1, is_incoming=True))

    def copy(self, action: str, number: int = 2, ref: tuple[str, int] = ("a", 1), **values: Any) -> None:
        """Deliver a message about the copy of a guest by migration m."""
        copy = GuestCopy(AttemptRef(*ref), "m", number, action, **values)
        self.host.submit(context.new("p", "u"), apply_copies, [copy])

    def terminate(self, *refs: tuple[str, int]) -> None:
        """Deliver a terminate message."""
        self.host.submit(context.new("p", "u"), terminate, [AttemptRef(*ref) for ref in refs])
