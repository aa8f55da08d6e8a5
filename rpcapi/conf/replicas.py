# SPDX-License-Identifier: Apache-2.0
"""Options for replicas that acknowledge writes, in each option group with a Redis."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from oslo_config import cfg

from rpcapi.conf import redis_url

LOG = logging.getLogger(__name__)

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "replicas_acknowledge",
        min=0,
        max=16,
        sample_default="1 with a Sentinel or Cluster URL, else 0",
        help="Redis replicas that must receive a write before it is acknowledged. With fewer reachable replicas, "
        "writing calls fail. Run three servers, so that one may fail. 0: no wait; a failover loses writes that are "
        "not replicated.",
    ),
    cfg.FloatOpt(
        "wait_timeout",
        default=1.0,
        min=0.01,
        max=5.0,
        help="Seconds to wait for the replicas. Then the call fails as if the store were unavailable, although the "
        "write is applied; a repeated call is acknowledged once the replicas have it.",
    ),
]


@dataclass(frozen=True, slots=True)
class ReplicaAcknowledgement:
    count: int = 0
    wait_ms: int = 1000


def from_options(group: cfg.ConfigOpts.GroupAttr, url: str) -> ReplicaAcknowledgement:
    count = group.replicas_acknowledge
    if count is None:
        count = int(redis_url.has_multiple_servers(url))
    return ReplicaAcknowledgement(count, round(1000 * group.wait_timeout))


def warn_of_loss(name: str, group: cfg.ConfigOpts.GroupAttr, urls: Iterable[str]) -> None:
    """Log a warning if a failover may lose acknowledged writes."""
    if group.replicas_acknowledge == 0 and any(map(redis_url.has_multiple_servers, urls)):
        LOG.warning(
            "[%s] replicas_acknowledge is 0: a failover loses acknowledged writes that no replica has; set 1 or more",
            name,
        )
