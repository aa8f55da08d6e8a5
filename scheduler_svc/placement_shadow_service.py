# SPDX-License-Identifier: Apache-2.0
"""Starts and stops the one worker process of gantt-placement-shadow."""

from oslo_config import cfg
from oslo_log import log

from scheduler_svc.composition.placement_shadow import build

LOG = log.getLogger(__name__)


class PlacementShadowService:
    """Passes requests on to another Placement, and repeats them on gantt. Implements the protocol of rpcapi.daemon.

    There is one process, since writes are repeated in the order in which they were acknowledged.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._drain_s = conf.graceful_shutdown_timeout
        self._parts = build(conf)

    def start(self) -> None:
        """Serve; raises BadConfiguration where the address cannot be bound."""
        self._parts.report.start()
        self._parts.mirror.start()
        self._parts.server.start()
        LOG.info("The shadow of Placement serves %s", self._parts.server.url)

    def stop(self) -> None:
        """Accept no more requests."""
        self._parts.server.stop()

    def wait(self) -> None:
        """Wait until accepted requests are answered, and for a while until gantt has got them all."""
        parts = self._parts
        parts.server.wait()
        if not parts.mirror.drain(self._drain_s):
            LOG.warning("gantt did not take all requests within %s s", self._drain_s)
        parts.mirror.stop()
        parts.mirror.wait()
        parts.report.stop()
        parts.report.wait()
        for end in (parts.placement, parts.gantt):
            end.close()

    def reset(self) -> None:
        """Read the files of TLS again, for new connections; raises BadConfiguration, and the former ones remain."""
        for part in (self._parts.server, self._parts.placement, self._parts.gantt):
            part.reload()


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> PlacementShadowService:
    """Create the service of the worker process."""
    return PlacementShadowService(conf)
