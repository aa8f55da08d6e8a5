# SPDX-License-Identifier: Apache-2.0
"""Supervisor of a service host: starts, restarts and stops its agent."""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from compute_agent import metrics, state_files
from compute_agent.attempts.audit import HostAuditor
from compute_agent.attempts.calls import IdentityRefused, ServiceCalls
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.attempts.isolation import AuditDuty
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalDamaged, JournalFile
from compute_agent.attempts.saga import AttemptSaga
from compute_agent.host_identity import GUESTS, JOURNAL, HostIdentity, rename_refusal
from compute_agent.newer_state import NewerState
from compute_agent.resources import nodes
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.runtime.executor import CancellableQueue, SerialQueuePool
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.runtime.schedules import AgentIntervals, ReportSchedule
from compute_agent.runtime.service_host import ServiceHost
from compute_agent.simulator.faults import FaultInjector
from compute_agent.simulator.hypervisor import Hypervisor
from compute_agent.simulator.load import SimulatedLoad
from compute_agent.simulator.profile import HostProfile
from compute_agent.stamps import StampFile
from rpcapi import errors
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.daemon.waiting import ShutdownRequested

LOG = log.getLogger(__name__)

PAUSES_BEFORE_ISOLATION = 3  # report pauses that an isolation must exceed


@dataclass(frozen=True, slots=True)
class SharedContext:
    """Objects shared by all service hosts of a process.

    Attributes:
        folder: State folder with a subfolder per host.
        check_folder: Raises FolderInUse if another process owns ``folder`` now.
        abandoned: {host: number of guests} of subfolders that no host of the process serves.
        make_server: Returns a host's RPC server, not started.
    """

    conf: cfg.ConfigOpts
    folder: Path
    check_folder: Callable[[], None]
    abandoned: dict[str, int]
    make_server: Callable[[ServiceHost], messaging.MessageHandlingServer]
    scheduler: SchedulerAPI
    claims: ClaimsAPI
    conductor: ConductorAPI
    calls: ServiceCalls
    queue_pool: SerialQueuePool
    report_queue_pool: SerialQueuePool
    profile: Callable[[], HostProfile]
    intervals: Callable[[], AgentIntervals]
    stopping: threading.Event


class HostSupervisor:
    """Supervisor of a host's agent: call ``open`` and ``join``, then ``leave`` and ``close``."""

    def __init__(self, plan: nodes.HostPlan, shared: SharedContext) -> None:
        self.name = plan.name
        self._plan = plan
        self._shared = shared
        self._fault_injector = FaultInjector(plan.name, shared.profile)
        self._queue = shared.queue_pool.new_queue()
        self._queues: list[CancellableQueue] = []
        self._host: ServiceHost | None = None
        self._server: messaging.MessageHandlingServer | None = None
        self._unserved = ""  # reason in the metric; "" if the host is served

    @property
    def guest_manager(self) -> GuestManager:
        assert self._host is not None  # noqa: S101 - every caller has called open
        return self._host.guest_manager

    def open(self) -> None:
        """Create the agent and reconcile its journal with its guests; raises BadConfiguration."""
        folder = self._shared.folder / state_files.folder_name(self.name)
        retention_ms = round(1000 * self._shared.conf.compute.ended_retention)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            identity = HostIdentity(folder, self.name)
            is_renamed = bool(self._shared.abandoned) and not identity.is_served
            refusal = rename_refusal(self.name, self._shared.abandoned) if is_renamed else ""
            if refusal:
                LOG.error("%s", refusal)
            guest_manager = GuestManager(
                self.name,
                Journal(JournalFile(folder / JOURNAL, self.name), retention_ms),
                ResourceTracker(self._plan.nodes),
                Hypervisor(folder / GUESTS, self._shared.profile),
                AuditDuty(_isolation_timeout(self._shared.conf)),
                refusal,
            )
            guest_manager.open()
            stamps = StampFile(folder / "stamp", self._shared.conf.rpc.partition)
            self._host = self._make_host(guest_manager, stamps, identity)
        except (JournalDamaged, NewerState, ValueError, OSError) as error:
            raise errors.BadConfiguration(why=f"the state of host {self.name} is unusable: {error}") from error

    def join(self) -> None:
        """Register and audit the host, then serve. Raises CallRejected, IdentityRefused and ShutdownRequested."""
        assert self._host is not None  # noqa: S101 - open was called before
        try:
            self._host.join(self._shared.stopping)
        except IdentityRefused:
            self._set_unserved("identity")
            raise
        self._set_unserved("renamed" if self.guest_manager.refusal else "")
        server = self._shared.make_server(self._host)
        server.start()
        self._server = server
        if self._shared.stopping.is_set():
            self.leave()

    def leave(self) -> None:
        self._shared.queue_pool.new_queue().submit(self._stop_serving)

    def close(self) -> None:
        """Shut the agent down, after in-flight work has drained."""
        for queue in self._queues:
            queue.end()
        if self._host is not None:
            self._host.guest_manager.journal.close()

    def restart(self) -> None:
        """Restart the agent as after a crash: queued jobs are lost."""
        self._stop_serving()
        self.close()
        try:
            self.open()
            self.join()
        except ShutdownRequested as error:
            LOG.info("Host %s: %s", self.name, error)
        except Exception as error:
            # Like a crash of a separate process, the exception ends this agent only; other hosts keep running.
            self.retry_after(error)

    def retry_after(self, error: Exception) -> None:
        """Log why the host is not served, and restart its agent later."""
        pause = self._shared.intervals().retry_max
        LOG.error("Host %s is not served: %s; retrying in %g s", self.name, error, pause)
        self._queue.submit_after(pause, self.restart)

    def _set_unserved(self, reason: str) -> None:
        if reason != self._unserved:
            if self._unserved:
                metrics.UNSERVED_HOSTS.labels(self._unserved).dec()
            if reason:
                metrics.UNSERVED_HOSTS.labels(reason).inc()
            self._unserved = reason

    def die(self) -> None:
        """Simulate a power loss: the guests stop, and the host is silent until the process restarts."""
        LOG.warning("Host %s lost power (simulated fault)", self.name)
        metrics.INJECTED_FAULTS.labels("death").inc()
        for guest in self.guest_manager.hypervisor.list():
            self.guest_manager.hypervisor.power_off(guest.ref)
        for queue in self._queues:
            queue.end()
        self.leave()

    def _stop_serving(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()
            server.wait()

    def _make_host(self, guest_manager: GuestManager, stamps: StampFile, identity: HostIdentity) -> ServiceHost:
        shared = self._shared
        calls = shared.calls.of_host(identity.uuid)
        self._queues = [CancellableQueue(self._queue), CancellableQueue(shared.report_queue_pool.new_queue())]
        queue, report_queue = self._queues
        reporter = StatsReporter(
            guest_manager,
            partition=shared.conf.rpc.partition,
            nodes=self._plan.nodes,
            load=SimulatedLoad(self.name, self._plan.nodes, guest_manager.tracker, shared.profile),
            scheduler=shared.scheduler,
            calls=calls,
            check_folder=shared.check_folder,
            stamps=stamps,
            identity=identity,
        )
        make_reports = functools.partial(
            ReportSchedule,
            reporter=reporter,
            queue=report_queue,
            intervals=shared.intervals,
            fault_injector=self._fault_injector,
            restart=lambda: queue.submit(self.restart),
            leave=self.leave,
        )
        return ServiceHost(
            guest_manager,
            saga=AttemptSaga(guest_manager, shared.claims, shared.conductor, calls, lambda: reporter.reported_drops),
            auditor=HostAuditor(guest_manager, shared.claims, calls, stamps),
            make_reports=make_reports,
            queue=queue,
            intervals=shared.intervals,
            die=self.die,
        )


def _isolation_timeout(conf: cfg.ConfigOpts) -> float:
    """Return the timeout in seconds, at least several report intervals."""
    return float(max(conf.compute.isolation_timeout, PAUSES_BEFORE_ISOLATION * conf.compute.report_interval))
