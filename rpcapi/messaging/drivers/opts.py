# SPDX-License-Identifier: Apache-2.0
"""Options of the embedded bus, group `[gantt_bus]`."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    "gantt_bus",
    title="Embedded bus",
    help="RPC over a dedicated Redis server, used when transport_url begins with gantt+redis.",
)

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "visibility_timeout",
        default=10,
        min=1,
        help="Seconds until a message is redelivered if its server died before acknowledging it. Running servers "
        "renew their messages, so a low value costs only one write every third of this time.",
    ),
    cfg.IntOpt(
        "prefetch",
        default=8,
        min=1,
        help="Maximum messages that one RPC server has received but not begun. A higher value feeds a busy server "
        "better; a lower value balances load and leaves less to redeliver when the server dies.",
    ),
    cfg.IntOpt(
        "request_ttl",
        default=3600,
        min=1,
        help="Seconds that a cast waits for a server before it is dropped, and that a queue without servers is kept "
        "after its last message.",
    ),
    cfg.IntOpt(
        "reply_ttl",
        default=60,
        min=3,
        help="Seconds that replies and fan-out messages are kept for a process that stopped reading.",
    ),
    cfg.IntOpt(
        "max_connections",
        default=16,
        min=2,
        help="Maximum connections to Redis for sending, per process; further senders wait. Receiving uses one more.",
    ),
    cfg.FloatOpt(
        "socket_timeout",
        default=5.0,
        min=0.1,
        help="Seconds that a Redis command may take before its connection is reopened.",
    ),
    cfg.FloatOpt(
        "send_timeout",
        default=10.0,
        min=0,
        help="Seconds that a cast or reply is retried while Redis is unreachable; calls are retried until their "
        "timeout. Keep it well below [conductor] lease, which a conductor holds while it casts.",
    ),
    cfg.FloatOpt(
        "reconnect_backoff",
        default=0.1,
        min=0.01,
        help="Seconds before the first retry when Redis is unreachable; each further delay doubles.",
    ),
    cfg.FloatOpt(
        "reconnect_backoff_max", default=2.0, min=0.01, help="Maximum seconds between attempts to reach Redis."
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # By name, because an OptGroup object shares its options and overrides among all configurations.
    conf.register_opts(OPTS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTS)]
