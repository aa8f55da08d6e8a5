# SPDX-License-Identifier: Apache-2.0
"""Options of the simulated storage and network services."""

from oslo_config import cfg

GROUP = "publisher"
OPTS = [
    cfg.FloatOpt("interval", default=10.0, min=0.1, help="Seconds between two rounds of publishing."),
    cfg.IntOpt(
        "racks",
        default=2,
        min=1,
        max=1000,
        help="Number of racks; hosts and pools are distributed over them by number.",
    ),
    cfg.IntOpt(
        "physnets", default=2, min=1, max=64, help="Number of physical networks; each host is on all but one of them."
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group=GROUP)
