# SPDX-License-Identifier: Apache-2.0
"""How many replicas must have a write before it is acknowledged: options that every group of a Redis has."""

from dataclasses import dataclass

from oslo_config import cfg

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "replicas_acknowledge",
        default=0,
        min=0,
        max=16,
        help="Replicas of the Redis that must have received a write before it is answered; 0: none is waited for, and "
        "a failover loses what was not yet replicated. With so many replicas away nothing is acknowledged any more. "
        "Set 1 where the url is one of Sentinel or of a Redis Cluster.",
    ),
    cfg.FloatOpt(
        "wait_timeout",
        default=1.0,
        min=0.01,
        max=5.0,
        help="Seconds that the replicas are waited for. When they are over the write is answered as if the store were "
        "away, though it stands: it is repeated, and is acknowledged when they have it.",
    ),
]


@dataclass(frozen=True, slots=True)
class Replicas:
    """So many must have a write, waited for so long."""

    wanted: int = 0
    wait_ms: int = 1000


def configured(group: cfg.ConfigOpts.GroupAttr) -> Replicas:
    """Return what the options of ``group`` say."""
    return Replicas(group.replicas_acknowledge, round(1000 * group.wait_timeout))
