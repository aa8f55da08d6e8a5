# SPDX-License-Identifier: Apache-2.0
"""Options of gantt-placement-shadow, in group [placement_shadow]."""

import ssl

from oslo_config import cfg

from rpcapi import errors, tls
from rpcapi.conf import listener_tls

GROUP = "placement_shadow"
PLACEMENT, GANTT = "placement", "gantt"  # names of the two servers, and prefixes of their options
SCHEMES = ["http", "https"]

OPTS: list[cfg.Opt] = [
    cfg.HostAddressOpt("host", default="127.0.0.1", help="Address on which gantt-placement-shadow serves clients."),
    cfg.PortOpt("port", default=8779, help="Port on which gantt-placement-shadow serves clients."),
    *listener_tls.tls_opts(),
    cfg.URIOpt(
        "placement_url",
        schemes=SCHEMES,
        help="URL of the Placement that answers clients, with its path prefix if any. Required.",
    ),
    cfg.URIOpt(
        "gantt_url",
        schemes=SCHEMES,
        help="URL of the gantt-placement that repeats the requests, with its path prefix if any. Required.",
    ),
    cfg.StrOpt(
        "placement_ca_file",
        default="",
        help="PEM file with the CA of the certificate at an https placement_url. Unset: the system's CAs.",
    ),
    cfg.StrOpt(
        "gantt_ca_file",
        default="",
        help="PEM file with the CA of the certificate at an https gantt_url. Unset: the system's CAs.",
    ),
    cfg.StrOpt(
        "client_cert_file",
        default="",
        help="PEM file with the client certificate, if servers require one. SIGHUP rereads the TLS files.",
    ),
    cfg.StrOpt(
        "client_key_file",
        default="",
        help="PEM file with the client certificate's key. Unset: the key is in client_cert_file.",
    ),
    cfg.IntOpt("threads", default=32, min=1, max=256, help="Requests passed on at a time."),
    cfg.FloatOpt("timeout", default=60.0, min=0.1, help="Seconds that each server may take to answer."),
    cfg.IntOpt(
        "max_waiting",
        default=10_000,
        min=1,
        help="Requests that may wait for gantt, with bodies of up to 256 MiB in all; further requests are answered "
        "but not repeated on gantt. Reads may take half, which leaves space for writes.",
    ),
    cfg.FloatOpt(
        "summary_interval",
        default=300.0,
        min=1.0,
        help="Seconds between summaries in the log; the first 100 differences in between get a line each.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a missing URL, equal URLs or an unusable TLS file."""
    options = conf[GROUP]
    for name in (PLACEMENT, GANTT):
        if not options[f"{name}_url"]:
            raise errors.BadConfiguration(why=f"[{GROUP}] {name}_url is not set")
    if options.placement_url.rstrip("/") == options.gantt_url.rstrip("/"):
        raise errors.BadConfiguration(why=f"[{GROUP}] placement_url and gantt_url are both {options.gantt_url}")
    listener_tls.check(conf, GROUP)
    for name in (PLACEMENT, GANTT):
        is_encrypted = options[f"{name}_url"].lower().startswith("https:")
        if is_encrypted:
            client_context(conf, name)
        elif options[f"{name}_ca_file"]:
            raise errors.BadConfiguration(why=f"[{GROUP}] {name}_ca_file needs an https URL: nothing is encrypted")


def client_context(conf: cfg.ConfigOpts, name: str) -> ssl.SSLContext:
    """Build the TLS context for server ``name`` from the current files. Raises BadConfiguration."""
    options = conf[GROUP]
    return tls.client_context(
        f"[{GROUP}] {name}_url",
        ca_file=options[f"{name}_ca_file"] or None,
        cert_file=options.client_cert_file or None,
        key_file=options.client_key_file or None,
    )
