# SPDX-License-Identifier: Apache-2.0
"""Options of group [placement]."""

import os

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import listener_tls
from scheduler_svc.conf import api

GROUP = "placement"
UNKNOWN_OWNER = "00000000-0000-0000-0000-000000000000"

OPTS: list[cfg.Opt] = [
    cfg.HostAddressOpt(
        "host",
        default="127.0.0.1",
        help="Address on which gantt-placement serves Placement's HTTP API, with TLS if tls_cert_file is set.",
    ),
    cfg.PortOpt("port", default=8778, help="Port on which gantt-placement serves Placement's HTTP API."),
    *listener_tls.tls_opts(),
    cfg.StrOpt(
        "prefix",
        default="",
        regex=r"^(/[\w.~-]+)*$",
        help="Path, such as /placement, below which a proxy serves the API: links and locations begin with it, "
        "requests may. Not needed if the proxy sends X-Forwarded-Prefix.",
    ),
    cfg.IntOpt(
        "workers",
        default=os.cpu_count() or 1,
        sample_default="<number of processors>",
        min=1,
        max=256,
        help="Number of processes that serve the API. Each has a replica of all providers, of 2 to 3 kB per provider.",
    ),
    cfg.IntOpt(
        "threads",
        default=4,
        min=1,
        max=64,
        help="Requests that one process serves at a time; they mostly wait for the store.",
    ),
    cfg.StrOpt(
        "incomplete_consumer_project_id",
        default=UNKNOWN_OWNER,
        help="Project of consumers allocated before microversion 1.8, which has no projects.",
    ),
    cfg.StrOpt(
        "incomplete_consumer_user_id",
        default=UNKNOWN_OWNER,
        help="User of consumers allocated before microversion 1.8, which has no users.",
    ),
    cfg.IntOpt(
        "max_allocation_candidates",
        default=100_000,
        min=1,
        max=1_000_000,
        help="Maximum allocation candidates per query; each takes about 150 bytes of the answer, a provider 500.",
    ),
    cfg.FloatOpt(
        "allocation_candidates_timeout",
        default=10.0,
        min=0.1,
        max=600.0,
        help="Seconds within which a query for allocation candidates is answered. The search ends after half of them: "
        "a query with a limit then gets the candidates found; a query without a limit or without candidates gets 503.",
    ),
    cfg.BoolOpt(
        "insecure_public",
        default=False,
        help="Whether [api] auth_strategy = noauth2, which accepts every token, is allowed on other than loopback "
        "addresses: any client that reaches it can change all allocations.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for noauth2 on a public address, or unusable TLS options."""
    options = conf[GROUP]
    listener_tls.check(conf, GROUP)
    if (
        conf.api.auth_strategy == api.NO_AUTHENTICATION
        and not options.insecure_public
        and not listener_tls.is_loopback(options.host)
    ):
        raise errors.BadConfiguration(
            why=f"[api] auth_strategy = {api.NO_AUTHENTICATION} accepts every token, and [placement] host = "
            f"{options.host} can be reached from other machines: use {api.KEYSTONE}, or set [placement] "
            "insecure_public = true"
        )
