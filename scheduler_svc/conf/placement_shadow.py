# SPDX-License-Identifier: Apache-2.0
"""Options of group [placement_shadow], which gantt-placement-shadow reads."""

from oslo_config import cfg

from rpcapi import errors

GROUP = "placement_shadow"
SCHEMES = ["http", "https"]

OPTS: list[cfg.Opt] = [
    cfg.HostAddressOpt("host", default="127.0.0.1", help="Address on which gantt-placement-shadow serves clients."),
    cfg.PortOpt("port", default=8779, help="Port on which gantt-placement-shadow serves clients."),
    cfg.URIOpt(
        "placement_url",
        schemes=SCHEMES,
        help="The Placement whose answers clients get, with its path prefix if it has one. Required.",
    ),
    cfg.URIOpt(
        "gantt_url",
        schemes=SCHEMES,
        help="The gantt-placement that gets the same requests afterwards, with its path prefix. Required.",
    ),
    cfg.IntOpt("threads", default=32, min=1, max=256, help="Requests that are passed on at a time."),
    cfg.FloatOpt("timeout", default=60.0, min=0.1, help="Seconds that each end may take to answer."),
    cfg.IntOpt(
        "max_waiting",
        default=10_000,
        min=1,
        help="Requests that may wait for gantt, with bodies of up to 256 MiB; those beyond are answered as ever, and "
        "not repeated on gantt. Reads take half of that at most, so that there is space for writes.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options on ``conf``."""
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration where an end is not configured, or both are the same."""
    options = conf[GROUP]
    for name in ("placement_url", "gantt_url"):
        if not options[name]:
            raise errors.BadConfiguration(why=f"[{GROUP}] {name} is not set: use the URL of that end")
    if options.placement_url.rstrip("/") == options.gantt_url.rstrip("/"):
        raise errors.BadConfiguration(why=f"[{GROUP}] placement_url and gantt_url are both {options.gantt_url}")
