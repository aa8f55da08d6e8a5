# SPDX-License-Identifier: Apache-2.0
"""A service host's agent in a test's own hands: its lane, its clock, and its death at any step."""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compute_agent.attempt import Attempt, Ref, Stage
from compute_agent.audit import Auditor
from compute_agent.builder import Builder
from compute_agent.calls import Calls
from compute_agent.holdings import Holdings
from compute_agent.hypervisor import Guest, Hypervisor
from compute_agent.journal import Journal
from compute_agent.journal_file import JournalFile
from compute_agent.lanes import Job
from compute_agent.load import Load
from compute_agent.mishaps import Mishaps
from compute_agent.nodes import Node, Shape
from compute_agent.profile import Profile
from compute_agent.reporter import Reporter
from compute_agent.saga import Saga
from compute_agent.service_host import Pace, ServiceHost
from compute_agent.tracker import Tracker
from compute_agent.wish import Wish
from rpcapi import context
from rpcapi.model.inventory import Inventory
from tests.unit.compute_agent.doubles import Conductor, Ledger, Scheduler

HOST = "alpha"
SHAPE = Shape("test", {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192, reserved=512)}, ("HW_CPU_X86_AVX2",))
NODES = tuple(Node(f"{HOST}/node{number}", SHAPE, "zone1") for number in range(2))
RESOURCES = {"VCPU": 2, "MEMORY_MB": 1024}


@dataclass(frozen=True, slots=True)
class Doomed(Profile):
    """Refuses and fails by name, so that a test can choose."""

    def refuses(self, ref: Ref) -> bool:
        return ref.uuid.startswith("refused")

    def fails(self, ref: Ref) -> bool:
        return ref.uuid.startswith("failing")


class Killed(BaseException):
    """Raised where the agent's process dies."""


class Fuse:
    """Kills at the ``at``-th step that passes it (0: never)."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise Killed

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``call`` with a step before it and one after it."""

        def fused(*args: Any, **kwargs: Any) -> Any:
            self.step()
            answer = call(*args, **kwargs)
            self.step()
            return answer

        return fused


class FusedClient:
    """A client whose every call is two steps: one before it is sent, one before its answer arrives."""

    def __init__(self, service: Any, fuse: Fuse) -> None:
        self._service = service
        self._fuse = fuse

    def __getattr__(self, method: str) -> Any:
        return self._fuse.around(getattr(self._service, method))


class Clock:
    """Milliseconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


class _Timer:
    def __init__(self, job: Job | None) -> None:
        self.job = job

    def cancel(self) -> None:
        self.job = None


class ManualLane:
    """Jobs are done when the test says so, timers by its clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: deque[Job] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def after(self, seconds: float, job: Job) -> _Timer:
        timer = _Timer(job)
        heapq.heappush(self._timers, (self._clock.now + 1000 * seconds, next(self._order), timer))
        return timer

    def run(self) -> None:
        """Do all that is there now."""
        while self._jobs:
            self._jobs.popleft()()

    def settle(self, timers: int = 200) -> None:
        """Do all that is there, and all that timers bring, until nothing is left."""
        self.run()
        for _ in range(timers):
            if not self.waiting():
                return
            self.fire()
        raise AssertionError("the agent does not come to a rest")

    def fire(self) -> None:
        """Let the time of the next timer come, and do what it brings."""
        while True:
            when, _, timer = heapq.heappop(self._timers)
            if timer.job is not None:
                break
        self._clock.now = max(self._clock.now, round(when))
        timer.job()
        self.run()

    def waiting(self) -> int:
        """How many timers are set."""
        return sum(timer.job is not None for _, _, timer in self._timers)


class Rig:
    """One service host, the services round it, and agents that follow each other on its state folder."""

    def __init__(self, folder: Path, profile: Profile | None = None) -> None:
        self.folder = folder
        self.profile = profile or Profile(boot_delay=1.0)
        self.clock = Clock()
        self.ledger = Ledger()
        self.conductor = Conductor()
        self.scheduler = Scheduler()
        self.nodes = NODES
        self.lane = ManualLane(self.clock)
        self.report_lane = ManualLane(self.clock)
        self.holdings: Holdings | None = None
        self.restarts = 0  # how often the agent was to restart

    def start(self, fuse: Fuse | None = None) -> ServiceHost:
        """Make an agent that takes over; ``fuse`` kills it."""
        fuse = fuse or Fuse()
        self.lane, self.report_lane = ManualLane(self.clock), ManualLane(self.clock)
        file = JournalFile(self.folder / "journal", HOST)
        hypervisor = Hypervisor(self.folder / "guests", lambda: self.profile, self.clock)
        for owner, names in ((file, ("append", "rewrite")), (hypervisor, ("spawn", "stop"))):
            for name in names:
                setattr(owner, name, fuse.around(getattr(owner, name)))
        journal = Journal(file, retention_ms=3_600_000, clock=self.clock)
        self.holdings = holdings = Holdings(HOST, journal, Tracker(self.nodes), hypervisor)
        claims: Any = FusedClient(self.ledger, fuse)
        conductor: Any = FusedClient(self.conductor, fuse)
        scheduler: Any = FusedClient(self.scheduler, fuse)
        calls = Calls(5.0)
        holdings.open()
        self.auditor = Auditor(holdings, claims, calls, self.clock)
        self.reporter = Reporter(
            host=HOST,
            partition="cell1",
            nodes=self.nodes,
            tracker=holdings.tracker,
            load=Load(HOST, self.nodes, holdings.tracker, lambda: self.profile),
            activity=holdings.activity,
            scheduler=scheduler,
            calls=calls,
            incarnation=self.clock.now,
        )
        self.host = ServiceHost(
            holdings,
            builder=Builder(holdings, self.clock),
            saga=Saga(holdings, claims, conductor, calls, self.clock),
            auditor=self.auditor,
            reporter=self.reporter,
            lane=self.lane,
            report_lane=self.report_lane,
            pace=Pace,
            mishaps=Mishaps(HOST, lambda: self.profile),
            restart=self._restart,
            clock=self.clock,
        )
        return self.host

    def serve(self, fuse: Fuse | None = None) -> ServiceHost:
        """Start an agent and let it audit, as before it serves."""
        host = self.start(fuse)
        self.auditor.audit(self.ledger.epoch)
        host.advance()
        return host

    def _restart(self) -> None:
        self.restarts += 1

    def stop(self) -> None:
        """Close what the agent's process would hold open."""
        if self.holdings is not None:
            self.holdings.journal.close()

    def guests(self) -> dict[tuple[str, int], Guest]:
        """What runs, as the files tell."""
        looker = Hypervisor(self.folder / "guests", lambda: self.profile, self.clock)
        looker.open()
        return {guest.ref: guest for guest in looker.list()}

    def intent(self, uuid: str, attempt: int = 1, node: int = 0, prepared: bool = True, **resources: int) -> Attempt:
        """Return a build of one instance; its claim is prepared as the scheduler would have."""
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

    def build(self, *intents: Attempt, wish: Wish = Wish()) -> None:  # noqa: B008 - it is frozen
        """Deliver a build message."""
        self.host.build(context.new("p", "u"), intents, wish)

    def terminate(self, *refs: tuple[str, int]) -> None:
        """Deliver a terminate message."""
        self.host.terminate(context.new("p", "u"), [Ref(*ref) for ref in refs])
