# SPDX-License-Identifier: Apache-2.0
"""Caps on the RPC versions that are sent, for rolling upgrades."""

from oslo_config import cfg

GROUP = "upgrade_levels"

OPTS = [
    cfg.StrOpt(
        service,
        regex=r"^\d+\.\d+$",
        help=f"The newest RPC version, such as '1.0', that may be sent to the {service} service. During an upgrade set "
        "it to the version of the oldest running one; unset: no cap.",
    )
    for service in ("scheduler", "claims", "conductor", "compute")
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [upgrade_levels]."""
    conf.register_opts(OPTS, group=GROUP)
