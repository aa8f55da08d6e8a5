# SPDX-License-Identifier: Apache-2.0
"""How the simulated hypervisor behaves; all of it can be changed while the agent runs."""

from oslo_config import cfg

GROUP = "simulator"

OPTS = [
    cfg.StrOpt(
        "seed",
        default="gantt",
        mutable=True,
        help="Seed of all simulated chance. The same seed gives the same instance the same fate on every run.",
    ),
    cfg.FloatOpt(
        "spawn_failure_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of attempts, from 0 to 1, whose guest fails to start after its claim was confirmed.",
    ),
    cfg.FloatOpt(
        "refusal_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of attempts, from 0 to 1, that the host refuses before it confirms the claim.",
    ),
    cfg.FloatOpt(
        "boot_delay",
        default=0.2,
        min=0.0,
        mutable=True,
        help="Median seconds from a guest's start until it runs.",
    ),
    cfg.FloatOpt(
        "boot_delay_spread",
        default=0.5,
        min=0.0,
        max=3.0,
        mutable=True,
        help="Spread of the boot delay: the standard deviation of its logarithm. 0 gives each guest the median.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [simulator]."""
    conf.register_opts(OPTS, group=GROUP)
