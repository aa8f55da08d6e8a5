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
        help=f"Newest RPC version, such as '1.0', that may be sent to the {service} service. 'auto': the version of "
        "its oldest living member, read from the scheduler every 30 seconds; a member without a version counts as "
        "the oldest supported release. Unset: no cap.",
    )
    for service in ("scheduler", "claims", "conductor", "compute")
]
