# SPDX-License-Identifier: Apache-2.0
"""One service host of a process, through the lives of its agent: each takes over what the one before left."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_log import log

from compute_agent import incarnation, nodes, state_files
from compute_agent.audit import Auditor
from compute_agent.builder import Builder
from compute_agent.calls import Calls
from compute_agent.holdings import Holdings
from compute_agent.hypervisor import Hypervisor
from compute_agent.journal import Journal
from compute_agent.journal_file import JournalDamaged, JournalFile
from compute_agent.lanes import Lanes, MortalLane
from compute_agent.load import Load
from compute_agent.mishaps import Mishaps
from compute_agent.profile import Profile
from compute_agent.reporter import Reporter
from compute_agent.saga import Saga
from compute_agent.service_host import Pace, ServiceHost
from compute_agent.tracker import Tracker
from rpcapi import errors
from rpcapi.claims import ClaimsAPI
from rpcapi.conductor import ConductorAPI
from rpcapi.daemon.waiting import Stopped
from rpcapi.scheduler import SchedulerAPI

LOG = log.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all service hosts of a process share.

    ``folder`` holds a folder for each, and ``server_for`` makes a host's server on the bus, which is not started.
    """

    conf: cfg.ConfigOpts
    folder: Path
    server_for: Callable[[ServiceHost], messaging.MessageHandlingServer]
    scheduler: SchedulerAPI
    claims: ClaimsAPI
    conductor: ConductorAPI
    calls: Calls
    lanes: Lanes
    report_lanes: Lanes
    profile: Callable[[], Profile]
    pace: Callable[[], Pace]
    stopping: threading.Event


class Lives:
    """``open``, ``join``, and so on as long as the process runs; ``leave`` and ``close`` at its end."""

    def __init__(self, plan: nodes.HostPlan, around: Surroundings) -> None:
        self.name = plan.name
        self._plan = plan
        self._around = around
        self._mishaps = Mishaps(plan.name, around.profile)
        self._lane = around.lanes.lane()
        self._mortal: list[MortalLane] = []
        self._host: ServiceHost | None = None
        self._server: messaging.MessageHandlingServer | None = None

    @property
    def holdings(self) -> Holdings:
        """What the host holds; it must be open."""
        assert self._host is not None  # noqa: S101 - every caller has opened it
        return self._host.holdings

    def open(self) -> None:
        """Begin a life: make journal and guests agree; raises BadConfiguration."""
        folder = self._around.folder / state_files.folder_name(self.name)
        retention_ms = round(1000 * self._around.conf.compute.ended_retention)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            holdings = Holdings(
                self.name,
                Journal(JournalFile(folder / "journal", self.name), retention_ms),
                Tracker(self._plan.nodes),
                Hypervisor(folder / "guests", self._around.profile),
            )
            holdings.open()
            self._host = self._make_host(holdings, incarnation.begin(folder / "incarnation"))
        except (JournalDamaged, ValueError, OSError) as error:
            raise errors.BadConfiguration(why=f"the state of host {self.name} cannot be used: {error}") from error

    def join(self) -> None:
        """Register and audit, then serve; raises Rejected and Stopped."""
        assert self._host is not None  # noqa: S101 - it is opened before
        self._host.join(self._around.stopping)
        server = self._around.server_for(self._host)
        server.start()
        self._server = server
        if self._around.stopping.is_set():
            self.leave()

    def leave(self) -> None:
        """Take no more messages; returns before that is so."""
        self._around.lanes.lane().submit(self._stop_serving)

    def close(self) -> None:
        """End the life, once all that it took has come to a rest."""
        for lane in self._mortal:
            lane.end()
        if self._host is not None:
            self._host.holdings.journal.close()

    def restart(self) -> None:
        """End this life as a crash would, and begin the next; what waits in the lane is lost, as messages may be."""
        LOG.warning("The agent of host %s restarts: simulated", self.name)
        self._stop_serving()
        self.close()
        try:
            self.open()
            self.join()
        except Stopped as error:
            LOG.info("Host %s: %s", self.name, error)
        except Exception as error:
            # Any fault ends this life, as it would end an agent's process; the other hosts go on.
            pause = self._around.pace().retry_max
            LOG.error("The agent of host %s did not come back: %s; it tries again in %g s", self.name, error, pause)
            self._lane.after(pause, self.restart)

    def _stop_serving(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()
            server.wait()

    def _make_host(self, holdings: Holdings, life: int) -> ServiceHost:
        around, host = self._around, self.name
        tracker = holdings.tracker
        self._mortal = [MortalLane(self._lane), MortalLane(around.report_lanes.lane())]
        lane, report_lane = self._mortal
        return ServiceHost(
            holdings,
            builder=Builder(holdings),
            saga=Saga(holdings, around.claims, around.conductor, around.calls),
            auditor=Auditor(holdings, around.claims, around.calls),
            reporter=Reporter(
                host=host,
                partition=around.conf.rpc.partition,
                nodes=self._plan.nodes,
                tracker=tracker,
                load=Load(host, self._plan.nodes, tracker, around.profile),
                activity=holdings.activity,
                scheduler=around.scheduler,
                calls=around.calls,
                incarnation=life,
            ),
            lane=lane,
            report_lane=report_lane,
            pace=around.pace,
            mishaps=self._mishaps,
            restart=self.restart,
        )
