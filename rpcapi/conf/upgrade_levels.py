# SPDX-License-Identifier: Apache-2.0
"""Caps on sent RPC versions, for rolling upgrades."""

from oslo_config import cfg

GROUP = "upgrade_levels"
AUTO = "auto"

OPTS = [
    cfg.StrOpt(
        service,
        regex=r"^(\d+\.\d+|auto)$",
        mutable=True,
        help=f"The newest RPC version, such as '1.0', that may be sent to the {service} service. 'auto' is that of the "
        "oldest living one, which the scheduler is asked for every 30 seconds; one that reports no version counts as "
        "the oldest supported release. Unset: no cap.",
    )
    for service in ("scheduler", "claims", "conductor", "compute")
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group=GROUP)
