# SPDX-License-Identifier: Apache-2.0
"""Caps on the versions that are sent, for upgrades while the cluster runs."""

from oslo_config import cfg

GROUP = "upgrade_levels"

OPTS = [
    cfg.StrOpt(
        service,
        regex=r"^\d+\.\d+$",
        help=f"The newest RPC version, such as '1.0', that may be sent to the {service} service. Set it to what the "
        "oldest running one knows while services are upgraded; unset: no cap.",
    )
    for service in ("scheduler", "claims", "conductor", "compute")
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [upgrade_levels]."""
    conf.register_opts(OPTS, group=GROUP)
