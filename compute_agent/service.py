# SPDX-License-Identifier: Apache-2.0
"""The agent's composition root: every service host of a process, on one bus and a few shared threads."""

import functools
import threading

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from compute_agent import metrics, nodes, state_files
from compute_agent.calls import Calls, Rejected
from compute_agent.conf import state_path
from compute_agent.endpoints.compute import ComputeEndpoint
from compute_agent.lanes import Lanes
from compute_agent.lives import Lives, Surroundings
from compute_agent.profile import Profile
from compute_agent.service_host import Pace, ServiceHost
from rpcapi import bus, errors
from rpcapi.claims import ClaimsAPI
from rpcapi.compute import ComputeAPI
from rpcapi.conductor import ConductorAPI
from rpcapi.daemon.coordination import Group
from rpcapi.daemon.membership import Membership
from rpcapi.daemon.waiting import Stopped, wait_for
from rpcapi.scheduler import SchedulerAPI
from rpcapi.serializer import GanttSerializer

LOG = log.getLogger(__name__)


class ComputeService:
    """Serves one or hundreds of service hosts; the protocol is rpcapi.daemon's."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._plans = nodes.plan(conf)
        self._folder = state_files.OwnedFolder(state_path.of(conf))
        self._profile = Profile.from_conf(conf)
        self._pace = _pace(conf)
        self._calls = Calls(conf.compute.call_timeout)
        self._lanes = Lanes("host", conf.compute.threads)
        self._report_lanes = Lanes("report", max(1, conf.compute.threads // 4))
        self._stopping = threading.Event()
        self._hosts: list[Lives] = []
        group = Group.from_conf(conf, conf.rpc.partition)
        self._membership = Membership(group, [plan.name for plan in self._plans]) if group else None
        self._fault: Exception | None = None

    def start(self) -> None:
        """Take over what earlier agents left, register and audit every host, and serve.

        Raises BadConfiguration, and Stopped when it was told to stop meanwhile.
        """
        # An agent before this one, whose master was killed, may still be draining.
        wait_for("The state folder", self._folder.take, self._stopping, away=(state_files.FolderInUse,))
        around = self._surroundings()
        self._hosts = [Lives(plan, around) for plan in self._plans]
        for host in self._hosts:
            host.open()
        if self._membership is not None:
            self._membership.start()
        self._join_all()
        self._count_guests()

    def stop(self) -> None:
        """Take no more messages; hundreds of servers stop side by side."""
        self._stopping.set()
        self._calls.drain()
        if self._membership is not None:
            self._membership.stop()
        for host in self._hosts:
            host.leave()

    def wait(self) -> None:
        """Return when every message taken is in a journal and the work under way has come to a rest."""
        self._lanes.close()
        self._report_lanes.close(drop=True)
        if self._membership is not None:
            self._membership.wait()
        for host in self._hosts:
            host.close()
        self._folder.release()

    def reset(self) -> None:
        """Use the simulator's figures and the pace as they are now."""
        self._profile = Profile.from_conf(self._conf)
        self._pace = _pace(self._conf)

    def _surroundings(self) -> Surroundings:
        transport = bus.get_transport(self._conf)
        conductor = ConductorAPI(self._conf, transport)
        rpc = self._conf.rpc

        def server_for(host: ServiceHost) -> messaging.MessageHandlingServer:
            return bus.get_server(
                transport,
                messaging.Target(topic=ComputeAPI.TOPIC, server=host.name),
                [ComputeEndpoint(host, rpc.partition, rpc.max_instances)],
                GanttSerializer(conductor.object_backport_versions),
            )

        return Surroundings(
            conf=self._conf,
            folder=self._folder.path,
            server_for=server_for,
            scheduler=SchedulerAPI(self._conf, transport),
            claims=ClaimsAPI(self._conf, transport, rpc.partition),
            conductor=conductor,
            calls=self._calls,
            lanes=self._lanes,
            report_lanes=self._report_lanes,
            profile=lambda: self._profile,
            pace=lambda: self._pace,
            stopping=self._stopping,
        )

    def _join_all(self) -> None:
        # The first goes alone: what is away it waits for, and says so, for all.
        first, *others = self._hosts
        left = threading.Semaphore(0)
        self._join(first, left)
        for host in others:
            self._lanes.lane().submit(functools.partial(self._join, host, left))
        for _ in self._hosts:
            left.acquire()
        if self._fault is not None:
            raise self._fault
        LOG.info("Serving %d hosts with %d nodes", len(self._hosts), sum(len(plan.nodes) for plan in self._plans))

    def _join(self, host: Lives, left: threading.Semaphore) -> None:
        try:
            host.join()
        except Exception as error:
            # Any fault of one host ends the start, which raises it in its own thread; the others give up at once.
            LOG.log(log.INFO if isinstance(error, Stopped) else log.ERROR, "Host %s: %s", host.name, error)
            self._fault = self._fault or _as_start_fault(error)
            self._stopping.set()
        finally:
            left.release()

    def _count_guests(self) -> None:
        metrics.GUESTS.set(sum(len(host.holdings.hypervisor.list()) for host in self._hosts))
        metrics.EXCESS.set(sum(len(host.holdings.tracker.excess()) for host in self._hosts))
        self._report_lanes.lane().after(self._pace.report_interval, self._count_guests)


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> ComputeService:
    """Make the service of the daemon's only worker process."""
    return ComputeService(conf)


def _pace(conf: cfg.ConfigOpts) -> Pace:
    return Pace(conf.compute.report_interval, conf.compute.retry_interval_max, conf.compute.report_jitter)


def _as_start_fault(error: Exception) -> Exception:
    if isinstance(error, Rejected):
        return errors.BadConfiguration(why=str(error))
    return error
