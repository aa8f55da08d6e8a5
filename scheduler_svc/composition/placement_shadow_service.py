# SPDX-License-Identifier: Apache-2.0
"""Worker process of gantt-placement-shadow."""

import functools

from oslo_config import cfg
from oslo_log import log

from rpcapi.conf import listener_tls
from scheduler_svc.conf import placement_shadow as shadow_conf
from scheduler_svc.placement.http.server import make_server
from scheduler_svc.placement.shadow.connections import HttpServerAt
from scheduler_svc.placement.shadow.mirror import Mirror
from scheduler_svc.placement.shadow.proxy import ShadowProxy
from scheduler_svc.shadow_report import ShadowReport

LOG = log.getLogger(__name__)


class PlacementShadowService:
    """Service of the proxy, in one process: writes are repeated in the order of their acknowledgement."""

    def __init__(self, conf: cfg.ConfigOpts, _worker_index: int = 0) -> None:
        """Build all parts without starting them. Raises BadConfiguration."""
        options = conf.placement_shadow
        self._drain_s = conf.graceful_shutdown_timeout
        self._placement, self._gantt = (
            HttpServerAt(
                options[f"{name}_url"],
                options.timeout,
                connections,
                functools.partial(shadow_conf.client_context, conf, name),
            )
            for name, connections in ((shadow_conf.PLACEMENT, options.threads), (shadow_conf.GANTT, 1))
        )
        self._report = ShadowReport(options.summary_interval)
        self._mirror = Mirror(self._gantt, options.max_waiting, self._report)
        self._server = make_server(
            ShadowProxy(self._placement, self._mirror),
            options.host,
            options.port,
            options.threads,
            shutdown_s=conf.graceful_shutdown_timeout,
            tls=listener_tls.context_source(conf, shadow_conf.GROUP),
        )

    def start(self) -> None:
        """Start serving. Raises BadConfiguration if the address cannot be bound."""
        for part in (self._report, self._mirror, self._server):
            part.start()
        LOG.info("Placement shadow serves %s", self._server.url)

    def stop(self) -> None:
        self._server.stop()

    def wait(self) -> None:
        """Answer accepted requests, give gantt graceful_shutdown_timeout to take them all, then stop all threads."""
        self._server.wait()
        if not self._mirror.drain(self._drain_s):
            LOG.warning("Dropped waiting requests: gantt did not answer all of them within %s s", self._drain_s)
        for part in (self._mirror, self._report):
            part.stop()
            part.wait()
        for end in (self._placement, self._gantt):
            end.close()

    def reset(self) -> None:
        """Reread the TLS files for new connections. Raises BadConfiguration and keeps the previous files."""
        for part in (self._server, self._placement, self._gantt):
            part.reset()
