# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster whose hosts are real agents, for moves in which both agents and the conductor take part.

Everything runs in one thread. Messages wait in a queue, agents are killed and started again on their state folders.
"""

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import oslo_messaging as messaging
import pytest

from compute_agent.endpoints.compute import ComputeEndpoint
from compute_agent.host_identity import HostIdentity
from compute_agent.resources.nodes import Node
from compute_agent.resources.shapes import NodeShape
from compute_agent.simulator.profile import HostProfile
from conductor.collaborators import Conductor
from conductor.requests import moves
from conductor.requests.copies import abort, force_complete
from conductor.requests.requested_changes import apply_to_migrations
from conductor.saga.step_context import SagaLimits
from rpcapi import objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import HostReport
from tests.support.agent.rig import AgentKilled, AgentRig, KillSwitch
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.fakes import FakeClaims
from tests.support.conductor.ledger import PARTITION, Ledger
from tests.support.conductor.simulated_cluster import (
    CTXT,
    LIMITS,
    MAX_PASSES,
    SimulatedCluster,
    SimulatedConductor,
    uuid_list,
)
from tests.support.simulation.promises import require

HOSTS = ("h1", "h2", "h3")
INVENTORIES = {"VCPU": Inventory(4), "MEMORY_MB": Inventory(8192)}
SPEC = objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 1024}, flavor="tiny")
CONVERGES = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=50.0, copy_downtime=0.5)
NEVER_CONVERGES = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=100.0)
INSTANCE, MIGRATION = uuid_list(2)


def nodes_of(hosts: Iterable[str]) -> dict[str, int]:
    """Return the VCPUs of each node of these hosts."""
    return {f"{host}/n": INVENTORIES["VCPU"].total for host in hosts}


class _Clock:
    """The cluster's time, as an agent's clock."""

    def __init__(self, cluster: "LiveCluster") -> None:
        self._cluster = cluster

    @property
    def now(self) -> int:
        return self._cluster.now_ms

    @now.setter
    def now(self, value: int) -> None:
        self._cluster.now_ms = value

    def __call__(self) -> int:
        return self.now


class StoreClaims(FakeClaims):
    """The claims service with all verbs of conductors and agents, by the real store's rules.

    An abort by a conductor applies in the other ``partitions`` too.
    """

    def __init__(self, ledger: Ledger, name: str = PARTITION, partitions: Iterable[Any] = ()) -> None:
        super().__init__(ledger)
        self.name = name
        self._earlier_attempts = EarlierAttempts(partitions)

    @property
    def epoch(self) -> int:
        return int(self.store.check_identity()[0])

    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        answers = self.store.confirm(host, decode.refs(refs), host_uuid=ctxt.host_uuid)
        return encode.claim_answers(answers, Answer.CONFIRMED)

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        self._begin("abort", ctxt)
        claim_refs = decode.refs(refs)
        caller = None if host is None else ctxt.host_uuid
        answers = self.store.abort(claim_refs, host, destinations, host_uuid=caller)
        if host is None:
            answers = self._earlier_attempts.abort(self.name, claim_refs, answers, destinations)
        return encode.claim_answers(answers, Answer.ABORTED)

    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        answers = self.store.release(host, decode.refs(refs), host_uuid=ctxt.host_uuid)
        return encode.claim_answers(answers, Answer.RELEASED)

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        running = decode.running(report)
        outcome = self.store.audit(report.host, report.epoch, running, 0, host_uuid=ctxt.host_uuid)
        return encode.audit_answer(outcome, None)


def _named(method: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments of a method of ComputeAPI after context and host, by their names, as they are sent."""
    return dict(zip(_names(method), values, strict=False))


@functools.cache
def _names(method: str) -> list[str]:
    _self, _ctxt, _host, *names = inspect.signature(getattr(ComputeAPI, method)).parameters
    return names


class AgentHosts:
    """All agents behind the interface of ComputeAPI; ``dead`` hosts get no message, and answer none."""

    def __init__(self, cluster: "LiveCluster", folder: Path) -> None:
        self.cluster = cluster
        self.queue: list[tuple[str, Callable[[ComputeEndpoint], Any]]] = []
        self.dead: set[str] = set()
        self.rigs: dict[str, AgentRig] = {}
        self.casts: list[tuple[str, str]] = []
        self.duplicate = False
        for host in HOSTS:
            rig = AgentRig(folder / host, CONVERGES, host)
            rig.nodes = (Node(f"{host}/n", NodeShape("test", INVENTORIES), "zone1"),)
            rig.clock = _Clock(cluster)  # type: ignore[assignment]
            rig.ledger, rig.conductor = cluster.claims_at(host), self
            self.rigs[host] = rig
            self.start(host)

    def start(self, host: str, kill_switch: KillSwitch | None = None) -> None:
        """Start the agent of a host, in place of one that was killed."""
        rig = self.rigs[host]
        rig.stop()
        self.dead.discard(host)
        self._run(host, lambda: rig.serve(kill_switch))

    def kill(self, host: str) -> None:
        """Kill the agent of a host: its guests stay."""
        self.dead.add(host)

    def lose_guests(self, host: str) -> None:
        """Lose the guests of a host whose agent is dead, as with the power of its machine."""
        for file in (self.rigs[host].folder / "guests").glob("*.json"):
            file.unlink()

    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        self.cluster.report(report)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith(("check_", "list_")):
            return lambda ctxt, host, *args: self._call(method, ctxt, host, *args)
        # Its keywords only choose the version of the message.
        return lambda ctxt, host, *args, **_versions: self._cast(method, ctxt, host, *args)

    def _call(self, method: str, ctxt: RequestContext, host: str, *args: Any) -> Any:
        if host in self.dead:
            raise messaging.MessagingTimeout("no answer")
        return getattr(self._endpoint(host), method)(ctxt, **_named(method, args))

    def _cast(self, method: str, ctxt: RequestContext, host: str, *args: Any) -> None:
        self.casts.append((method, host))
        for _ in range(2 if self.duplicate else 1):
            self.queue.append((host, lambda endpoint: getattr(endpoint, method)(ctxt, **_named(method, args))))

    def _endpoint(self, host: str) -> ComputeEndpoint:
        return ComputeEndpoint(self.rigs[host].host, self.cluster.claims_at(host).name, 100)

    def deliver(self) -> bool:
        """Deliver all queued messages, and run what is due; return whether there were any."""
        queue, self.queue = self.queue, []
        for host, message in queue:
            if host not in self.dead:
                message(self._endpoint(host))
        for host in HOSTS:
            if host not in self.dead:
                self._run(host, self.rigs[host].queue.run)
        return bool(queue)

    def fire(self, until_ms: float) -> bool:
        """Fire the next timer that is due at ``until_ms``; return whether there was one."""
        due = [(at_ms, host) for host in HOSTS if (at_ms := self.next_ms(host)) is not None and at_ms <= until_ms]
        if due:
            host = min(due)[1]
            self._run(host, self.rigs[host].queue.fire)
        return bool(due)

    def next_ms(self, host: str) -> float | None:
        return None if host in self.dead else self.rigs[host].queue.next_ms()

    def _run(self, host: str, job: Callable[[], Any]) -> None:
        try:
            job()
        except AgentKilled:
            self.kill(host)
        if self.rigs[host].deaths:
            self.kill(host)

    def running(self, uuid: str) -> list[str]:
        """Return the hosts on which the instance runs, by the guests' files."""
        return [
            host
            for host, rig in self.rigs.items()
            for guest in rig.guests().values()
            if not guest.is_off and not guest.is_paused and guest.uuid in (uuid, MIGRATION)
        ]

    def guests_of(self, uuid: str) -> list[tuple[str, int]]:
        """Return (node, attempt) of each guest of the instance or its migration."""
        return [
            (guest.name, guest.attempt)
            for rig in self.rigs.values()
            for guest in rig.guests().values()
            if guest.uuid in (uuid, MIGRATION)
        ]


class StepReached(BaseException):
    """Raised out of the store when the record of the instance got a step."""


class LiveCluster(SimulatedCluster):
    """Three hosts with agents, one instance, and its live migration; time advances only when nothing else is due."""

    def __init__(
        self,
        folder: Path,
        limits: SagaLimits = LIMITS,
        claim_store: Store | None = None,
        hosts: Iterable[str] = HOSTS,
    ) -> None:
        """``hosts``: those whose claims are in ``claim_store``."""
        super().__init__(nodes_of(hosts), limits, claim_store)
        self.claims: Any = self._make_claims()
        self._register(folder)
        self.hosts: Any = self._make_hosts(folder)
        self.switched = False  # the source has reported that its guest is stopped

    def _make_claims(self) -> StoreClaims:
        return StoreClaims(self.ledger)

    def _make_hosts(self, folder: Path) -> AgentHosts:
        return AgentHosts(self, folder)

    def claims_at(self, host: str) -> Any:
        """Return the claims service of the partition of a host."""
        return self.claims

    def _register(self, folder: Path) -> None:
        """Register the hosts with the uuids of their agents' folders."""
        for host in HOSTS:
            (folder / host).mkdir()
            self.register(host, HostIdentity(folder / host, host).uuid)

    def register(self, host: str, host_uuid: str) -> None:
        """Register a host with memory, as the agent of a state folder does, and audit it without guests."""
        document = {name: inventory.as_dict() for name, inventory in INVENTORIES.items()}
        node: dict[str, Any] = {"inventories": document, "traits": [], "availability_zone": None, "metrics": {}}
        report = HostReport(
            register=True,
            agent=f"agent of {host_uuid}",
            incarnation=0,
            sequence=1,
            nodes={f"{host}/n": node},
            host_uuid=host_uuid,
        )
        store = self.claims_at(host).store
        store.update_stats(host, report)
        store.audit(host, store.snapshot().epoch, [], 0, host_uuid=host_uuid)

    def boot(self, host: str = "h1") -> None:
        """Boot the instance; h1 is the first in the scheduler's order."""
        self.build([INSTANCE], SPEC)
        self.settle()
        assert self.record(INSTANCE).host == f"{host}/n"

    def live_migrate(self, target: str | None = None) -> None:
        moves.live_migrate(self.reliable_conductor(), CTXT, [INSTANCE], [MIGRATION], target)

    def reliable_conductor(self) -> Conductor:
        """Return a conductor whose peers nothing kills."""
        return make_conductor(self.store, self.clients(), max_instances=100)

    def abort(self, migrations: list[str]) -> None:
        apply_to_migrations(self.reliable_conductor(), migrations, abort, "abort_migrations")

    def force_complete(self, migrations: list[str]) -> None:
        apply_to_migrations(self.reliable_conductor(), migrations, force_complete, "force_complete_migrations")

    def report(self, report: objects.BuildReport) -> None:
        self._report(report)

    def work_off(self) -> None:
        """Work until nothing is due at this moment. Raises PromiseBroken if that does not end."""
        for _ in range(MAX_PASSES):
            if not (self.work() or self.hosts.deliver()):
                return
            self.check_runs_once()
        require(4, False, "conductors and agents exchange messages for ever")

    def check_runs_once(self) -> None:
        """Assert that the instance runs on at most one host, the one that its record shows.

        There its guest may have two files: an agent that is killed while it renames a guest leaves both.
        """
        hosts = set(self.hosts.running(INSTANCE))
        assert len(hosts) <= 1, "the instance runs twice"
        for record in self.store.get([INSTANCE]).values():
            is_shown = hosts <= {names.host_of(record.guest_host or "")}
            assert is_shown or record.status == "ERROR", "the record shows another host"

    def settle(self, max_ms: int = 3_600_000) -> None:
        self.settle_until(lambda: False, max_ms)

    def settle_until(self, condition: Callable[[], bool], max_ms: int = 3_600_000) -> None:
        """Run until the condition holds, no work remains, or ``max_ms`` have passed."""
        until = self.now_ms + max_ms
        while True:
            self.work_off()
            if condition() or not self.fire_next(until):
                return
            self.check_runs_once()

    def fire_next(self, until: float = math.inf) -> bool:
        """Advance the clock to the next timer and fire it; return False if there is none before ``until``."""
        timers = [at_ms for host in HOSTS if (at_ms := self.hosts.next_ms(host)) is not None]
        due = min([*timers, *([] if (next_due := self.store.next_due()) is None else [next_due])], default=math.inf)
        if due == math.inf or due > until:
            return False
        self.now_ms = max(self.now_ms, math.ceil(due))
        self.hosts.fire(self.now_ms)
        return True

    def run_to(self, step: str) -> None:
        """Run until the record of the instance has the step, and stop everything there."""
        plain_write, plain_write_without_lease = self.store.write, self.store.write_without_lease

        def stop_at(write: Callable[..., Any], *args: Any, **values: Any) -> Any:
            result = write(*args, **values)
            if self.record(INSTANCE).step == step:
                raise StepReached
            return result

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.store, "write", functools.partial(stop_at, plain_write))
            patch.setattr(self.store, "write_without_lease", functools.partial(stop_at, plain_write_without_lease))
            with pytest.raises(StepReached):
                self.settle()

    def fence(self, host: str) -> None:
        """Declare a dead host lost: all its claims end."""
        self.hosts.kill(host)
        with contextlib.suppress(Exception):
            self.claims_at(host).store.fence(host, f"token-{self.now_ms}", force=True)

    @property
    def migration(self) -> Any:
        return self.store.migrations([MIGRATION])[MIGRATION]

    def check_end(self, status: str, migration: str, host: str | None) -> None:
        """Assert the final records, that the instance runs only on ``host``, and that no other claim is left."""
        record = self.record(INSTANCE)
        assert (record.status, self.migration.status, record.step) == (status, migration, "done"), (
            record,
            self.migration,
        )
        live = self.ledger.live()
        if host is None:
            assert live == {} and self.hosts.running(INSTANCE) == []
        else:
            assert live == {INSTANCE: (f"{host}/n", record.attempt, "confirmed")}
            assert self.hosts.running(INSTANCE) == [host]
            assert self.hosts.guests_of(INSTANCE) == [(f"{host}/n", record.attempt)]
        assert self.ledger.problems() == []


def make_cluster(folder: Path, limits: SagaLimits = LIMITS) -> tuple[LiveCluster, SimulatedConductor]:
    """Return a cluster with a conductor and the booted instance."""
    cluster = LiveCluster(folder, limits)
    conductor = cluster.conductor()
    cluster.boot()
    return cluster, conductor
