# SPDX-License-Identifier: Apache-2.0
"""The size of a cluster, and which servers it runs on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from devstack.layout import DAEMONS, DASHBOARD, PLACEMENT, PUBLISHER
from rpcapi.daemon.options import DEFAULT_EXECUTOR


def default_executor() -> str:
    """Return the executor in GANTT_EXECUTOR, or the daemons' default."""
    return os.environ.get("GANTT_EXECUTOR") or DEFAULT_EXECUTOR


class Mode(StrEnum):
    """Which servers provide the bus and the store."""

    EMBEDDED = "embedded"  # two small Redis servers, on Unix sockets only
    STANDARD = "standard"  # RabbitMQ and Redis from the distribution's packages, on loopback ports


@dataclass(frozen=True)
class ClusterSize:
    """Size of a cluster and activity of its simulated nodes; port 0 means any free port.

    ``report_interval`` is in seconds; ``churn`` is the share of nodes, from 0 to 1, that change in each interval.
    ``pools`` and ``networks`` are the numbers of storage pools and physical networks of the simulated services.
    ``placement_port`` and ``dashboard_port`` are the ports of Placement's HTTP API and of the dashboard; None: the
    cluster has none. With ``metrics`` the daemons
    export their metrics, on ``metrics_ports``; free ones are chosen for those that it lacks.
    """

    mode: Mode = Mode.EMBEDDED
    computes: int = 10
    nodes_per_host: int = 10
    schedulers: int = 2
    amqp_port: int = 0
    store_port: int = 0
    executor: str = field(default_factory=default_executor)
    seed: int = 1
    report_interval: float = 10.0
    churn: float = 0.0
    pools: int = 0
    networks: int = 0
    placement_port: int | None = None
    dashboard_port: int | None = None
    metrics: bool = False
    metrics_ports: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def daemons(self) -> tuple[str, ...]:
        """Names of the daemon processes."""
        simulated = {"volume": self.pools, "network": self.networks, PUBLISHER: self.pools or self.networks}
        optional = [name for name, count in simulated.items() if count]
        served = {PLACEMENT: self.placement_port, DASHBOARD: self.dashboard_port}
        return (*DAEMONS, *optional, *(name for name, port in served.items() if port is not None))

    @property
    def exporters(self) -> tuple[str, ...]:
        """Names of the daemons that export metrics: the publisher stands for programs that are not gantt's."""
        return tuple(name for name in self.daemons if name != PUBLISHER) if self.metrics else ()

    @property
    def nodes(self) -> int:
        """Number of nodes that the agents simulate."""
        return self.computes * self.nodes_per_host
