# SPDX-License-Identifier: Apache-2.0
"""Composition root of the agent: all service hosts of a process, on one bus and a few threads."""

import functools
import threading

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log
from oslo_messaging.transport import RPCTransport

from compute_agent import metrics, state_files
from compute_agent.attempts.calls import CallRejected, IdentityRefused, ServiceCalls
from compute_agent.conf import state_path
from compute_agent.endpoints.compute import ComputeEndpoint
from compute_agent.host_identity import abandoned_guests
from compute_agent.resources import nodes
from compute_agent.runtime.executor import SerialQueuePool
from compute_agent.runtime.schedules import AgentIntervals
from compute_agent.runtime.service_host import ServiceHost
from compute_agent.runtime.supervisor import HostSupervisor, SharedContext
from compute_agent.simulator.profile import HostProfile
from rpcapi import errors
from rpcapi.clients.backport import ConductorBackport
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.daemon.bus_metrics import BusMeasurement
from rpcapi.daemon.coordination import CoordinationGroup, Membership
from rpcapi.daemon.waiting import ShutdownRequested, wait_for
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer

LOG = log.getLogger(__name__)


class ComputeService:
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._plans = nodes.plan_hosts(conf)
        self._folder = state_files.OwnedFolder(state_path.state_folder(conf))
        self._profile = HostProfile.from_conf(conf)
        self._intervals = _intervals(conf)
        self._calls = ServiceCalls(conf.compute.call_timeout)
        self._queue_pool = SerialQueuePool("host", conf.compute.threads)
        self._report_queue_pool = SerialQueuePool("report", max(1, conf.compute.threads // 4))
        self._stopping = threading.Event()
        self._hosts: list[HostSupervisor] = []
        group = CoordinationGroup.from_conf(conf, conf.rpc.partition)
        self._membership = Membership(group, [plan.name for plan in self._plans]) if group else None
        self._fault: Exception | None = None

    def start(self) -> None:
        """Take over the state, register and audit all hosts, then serve.

        Raises BadConfiguration, ShutdownRequested.
        """
        # The previous agent may still be draining after its master was killed.
        wait_for("The state folder", self._folder.acquire, self._stopping, retry_on=(state_files.FolderInUse,))
        transport = bus.get_transport(self._conf)
        bus_measurement = BusMeasurement(transport)
        shared = self._shared_context(transport, self._abandoned_guests())
        self._hosts = [HostSupervisor(plan, shared) for plan in self._plans]
        for host in self._hosts:
            host.open()
        if self._membership is not None:
            self._membership.start()
        self._join_all()
        self._measure(bus_measurement)

    def stop(self) -> None:
        """Stop receiving messages; the servers of all hosts stop in parallel."""
        self._stopping.set()
        self._calls.drain()
        if self._membership is not None:
            self._membership.stop()
        for host in self._hosts:
            host.leave()

    def wait(self) -> None:
        """Return when every received message is journalled and in-flight work has drained."""
        self._queue_pool.close()
        self._report_queue_pool.close(drop=True)
        if self._membership is not None:
            self._membership.wait()
        for host in self._hosts:
            host.close()
        self._folder.release()

    def reset(self) -> None:
        self._profile = HostProfile.from_conf(self._conf)
        self._intervals = _intervals(self._conf)

    def _abandoned_guests(self) -> dict[str, int]:
        hosts, retention_ms = {plan.name for plan in self._plans}, round(1000 * self._conf.compute.ended_retention)
        try:
            return abandoned_guests(self._folder.path, hosts, retention_ms)
        except OSError as error:
            raise errors.BadConfiguration(why=f"[compute] state_path is unusable: {error}") from error

    def _shared_context(self, transport: RPCTransport, abandoned: dict[str, int]) -> SharedContext:
        conductor = ConductorAPI(self._conf, transport)
        rpc = self._conf.rpc

        def make_server(host: ServiceHost) -> messaging.MessageHandlingServer:
            return bus.get_server(
                transport,
                messaging.Target(topic=ComputeAPI.TOPIC, server=host.name),
                [ComputeEndpoint(host, rpc.partition, rpc.max_instances)],
                GanttSerializer(ConductorBackport(conductor, self._conf.executor_thread_pool_size)),
            )

        return SharedContext(
            conf=self._conf,
            folder=self._folder.path,
            check_folder=self._folder.check,
            abandoned=abandoned,
            make_server=make_server,
            scheduler=SchedulerAPI(self._conf, transport),
            claims=ClaimsAPI(self._conf, transport, rpc.partition),
            conductor=conductor,
            calls=self._calls,
            queue_pool=self._queue_pool,
            report_queue_pool=self._report_queue_pool,
            profile=lambda: self._profile,
            intervals=lambda: self._intervals,
            stopping=self._stopping,
        )

    def _join_all(self) -> None:
        # The first host joins alone, so that the process waits for services, and logs it, only once.
        first, *others = self._hosts
        joined = threading.Semaphore(0)
        self._join(first, joined)
        for host in others:
            self._queue_pool.new_queue().submit(functools.partial(self._join, host, joined))
        for _ in self._hosts:
            joined.acquire()
        if self._fault is not None:
            raise self._fault
        LOG.info("Serving %d hosts with %d nodes", len(self._hosts), sum(len(plan.nodes) for plan in self._plans))

    def _join(self, host: HostSupervisor, joined: threading.Semaphore) -> None:
        try:
            host.join()
        except IdentityRefused as error:
            host.retry_after(error)
        except Exception as error:
            # An exception of one host stops all others from joining; the start raises it in its own thread.
            LOG.log(log.INFO if isinstance(error, ShutdownRequested) else log.ERROR, "Host %s: %s", host.name, error)
            fault = errors.BadConfiguration(why=str(error)) if isinstance(error, CallRejected) else error
            self._fault = self._fault or fault
            self._stopping.set()
        finally:
            joined.release()

    def _measure(self, bus_measurement: BusMeasurement) -> None:
        bus_measurement.measure()
        metrics.GUESTS.set(sum(len(host.guest_manager.hypervisor.list()) for host in self._hosts))
        metrics.EXCESS.set(sum(len(host.guest_manager.tracker.excess()) for host in self._hosts))
        self._report_queue_pool.new_queue().submit_after(
            self._intervals.report_interval, functools.partial(self._measure, bus_measurement)
        )


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> ComputeService:
    return ComputeService(conf)


def _intervals(conf: cfg.ConfigOpts) -> AgentIntervals:
    return AgentIntervals(conf.compute.report_interval, conf.compute.retry_interval_max, conf.compute.report_jitter)
