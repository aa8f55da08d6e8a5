# SPDX-License-Identifier: Apache-2.0
"""Builds the proxy that shadows another Placement."""

from dataclasses import dataclass

from oslo_config import cfg

from scheduler_svc.endpoints.placement.server import HttpServer
from scheduler_svc.endpoints.placement_shadow.proxy import ShadowProxy
from scheduler_svc.placement_shadow.exchanges import HttpServerAt
from scheduler_svc.placement_shadow.mirror import Mirror


@dataclass(frozen=True, slots=True)
class ShadowParts:
    """The parts of the proxy, none of them started."""

    placement: HttpServerAt
    gantt: HttpServerAt
    mirror: Mirror
    server: HttpServer


def build(conf: cfg.ConfigOpts) -> ShadowParts:
    """Build the proxy as configured."""
    options = conf.placement_shadow
    placement = HttpServerAt(options.placement_url, options.timeout, options.threads)
    gantt = HttpServerAt(options.gantt_url, options.timeout, 1)
    mirror = Mirror(gantt, options.max_waiting)
    server = HttpServer(
        ShadowProxy(placement, mirror),
        options.host,
        options.port,
        options.threads,
        shutdown_s=conf.graceful_shutdown_timeout,
    )
    return ShadowParts(placement, gantt, mirror, server)
