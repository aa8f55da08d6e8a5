# SPDX-License-Identifier: Apache-2.0
"""Size of a development cluster, and the servers that provide its bus and store."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from devstack.layout import DAEMONS, DASHBOARD, PLACEMENT, PUBLISHER
from rpcapi.daemon.options import DEFAULT_EXECUTOR


def default_executor() -> str:
    return os.environ.get("GANTT_EXECUTOR") or DEFAULT_EXECUTOR


class Mode(StrEnum):
    """Servers of the bus and the store."""

    EMBEDDED = "embedded"  # two small Redis servers, on Unix sockets only
    STANDARD = "standard"  # RabbitMQ and Redis from the distribution's packages, on loopback ports


@dataclass(frozen=True)
class ClusterSize:
    """Size of a cluster and activity of its simulated nodes.

    Port 0 means any free port, None no such server. ``report_interval`` is in seconds. ``churn`` is the share of nodes
    (0 to 1) that change per interval. ``pools`` and ``networks`` count simulated storage pools and physical networks.
    With ``metrics``, exporters without an entry in ``metrics_ports`` get free ports.
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
        simulated = {"volume": self.pools, "network": self.networks, PUBLISHER: self.pools or self.networks}
        optional = [name for name, count in simulated.items() if count]
        served = {PLACEMENT: self.placement_port, DASHBOARD: self.dashboard_port}
        return (*DAEMONS, *optional, *(name for name, port in served.items() if port is not None))

    @property
    def exporters(self) -> tuple[str, ...]:
        """Names of the daemons that export metrics: all but the publisher, which is not part of gantt."""
        return tuple(name for name in self.daemons if name != PUBLISHER) if self.metrics else ()

    @property
    def nodes(self) -> int:
        return self.computes * self.nodes_per_host
