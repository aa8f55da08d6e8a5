# SPDX-License-Identifier: Apache-2.0
"""Builds the proxy that shadows another Placement."""

import functools
from dataclasses import dataclass

from oslo_config import cfg

from rpcapi.conf import listener_tls
from rpcapi.daemon.http_listener import HttpServer
from scheduler_svc.conf import placement_shadow as shadow_conf
from scheduler_svc.endpoints.placement.server import make_server
from scheduler_svc.endpoints.placement_shadow.proxy import ShadowProxy
from scheduler_svc.placement_shadow.connections import HttpServerAt
from scheduler_svc.placement_shadow.mirror import Mirror
from scheduler_svc.shadow_report import ShadowReport


@dataclass(frozen=True, slots=True)
class ShadowParts:
    """The parts of the proxy, none of them started."""

    placement: HttpServerAt
    gantt: HttpServerAt
    report: ShadowReport
    mirror: Mirror
    server: HttpServer


def build(conf: cfg.ConfigOpts) -> ShadowParts:
    """Build the proxy as configured; raises BadConfiguration."""
    options = conf.placement_shadow
    placement, gantt = (
        HttpServerAt(
            options[f"{name}_url"],
            options.timeout,
            connections,
            functools.partial(shadow_conf.client_context, conf, name),
        )
        for name, connections in ((shadow_conf.PLACEMENT, options.threads), (shadow_conf.GANTT, 1))
    )
    report = ShadowReport(options.summary_interval)
    mirror = Mirror(gantt, options.max_waiting, report)
    server = make_server(
        ShadowProxy(placement, mirror),
        options.host,
        options.port,
        options.threads,
        shutdown_s=conf.graceful_shutdown_timeout,
        tls=listener_tls.context_source(conf, shadow_conf.GROUP),
    )
    return ShadowParts(placement, gantt, report, mirror, server)
