# SPDX-License-Identifier: Apache-2.0
"""Options for the replicas that must acknowledge a write; every group of a Redis has them."""

from dataclasses import dataclass

from oslo_config import cfg

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "replicas_acknowledge",
        default=0,
        min=0,
        max=16,
        help="Number of Redis replicas that must have received a write before it is acknowledged. 0: no wait; a "
        "failover loses writes that are not replicated. With fewer reachable replicas no write is acknowledged. "
        "Set 1 when the url is one of Sentinel or of a Redis Cluster.",
    ),
    cfg.FloatOpt(
        "wait_timeout",
        default=1.0,
        min=0.01,
        max=5.0,
        help="Seconds to wait for the replicas. After that the write fails as if the store were unavailable, although "
        "it is applied: the caller repeats it, and it is acknowledged when the replicas have it.",
    ),
]


@dataclass(frozen=True, slots=True)
class ReplicaAcknowledgement:
    """Number of replicas that must acknowledge a write, and how long to wait for them."""

    count: int = 0
    wait_ms: int = 1000


def from_options(group: cfg.ConfigOpts.GroupAttr) -> ReplicaAcknowledgement:
    """Return the values of the options of ``group``."""
    return ReplicaAcknowledgement(group.replicas_acknowledge, round(1000 * group.wait_timeout))
