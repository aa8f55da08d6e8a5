# SPDX-License-Identifier: Apache-2.0
"""How long callers wait."""

from oslo_config import cfg

GROUP = "rpc"
PARTITION = r"^[a-z0-9][a-z0-9_-]{0,62}$"

OPTS = [
    cfg.FloatOpt(
        "call_timeout",
        default=30.0,
        min=0.1,
        help="Seconds a caller waits for an answer where its request has no earlier deadline. A message lost with "
        "a killed service costs this long before its sender tries again.",
    ),
    cfg.FloatOpt(
        "call_monitor_timeout",
        default=10.0,
        min=0.1,
        help="Seconds without a heartbeat of the service after which a waiting caller gives a long call up. Below 2, "
        "or from the call's own timeout on, it means nothing: no heartbeats are asked for.",
    ),
    cfg.StrOpt(
        "partition",
        default="default",
        regex=PARTITION,
        help="Name of the partition (cell) that this service belongs to. Its claims are served on topic "
        "'claims.<partition>'. Lower-case letters, digits, '-' and '_'.",
    ),
    cfg.IntOpt(
        "max_instances",
        default=1000,
        min=1,
        max=10000,
        help="The most instances that one request may carry; a larger one is refused and must be split.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [rpc]."""
    conf.register_opts(OPTS, group=GROUP)
