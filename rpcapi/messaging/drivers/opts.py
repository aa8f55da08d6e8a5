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
        help="Seconds after which a message is redelivered to another server when the one that received it died "
        "before acknowledging it. A running server renews its unacknowledged messages, so a low value costs "
        "only one write every third of this time.",
    ),
    cfg.IntOpt(
        "prefetch",
        default=8,
        min=1,
        help="Maximum messages that one RPC server may have received but not begun. A higher value feeds a busy "
        "server better; a lower one balances load more evenly and leaves less to redeliver when it dies.",
    ),
    cfg.IntOpt(
        "request_ttl",
        default=3600,
        min=1,
        help="Seconds that a request without a timeout of its own (a cast) waits for a server before it is "
        "dropped, and that a queue without any server is kept after the last message sent to it.",
    ),
    cfg.IntOpt(
        "reply_ttl",
        default=60,
        min=3,
        help="Seconds that replies and fan-out messages are kept for a process that stopped reading. "
        "They are deleted afterwards, so that a client or server that died leaves nothing behind.",
    ),
    cfg.IntOpt(
        "max_connections",
        default=16,
        min=2,
        help="Maximum connections to Redis that one process opens for sending; further senders wait for a "
        "free one. Receiving uses one more, however many RPC servers the process runs.",
    ),
    cfg.FloatOpt(
        "socket_timeout",
        default=5.0,
        min=0.1,
        help="Seconds that one command to Redis may take before the connection is closed and reopened.",
    ),
    cfg.FloatOpt(
        "send_timeout",
        default=10.0,
        min=0,
        help="Seconds that sending a cast or a reply is retried while Redis is unreachable, before it fails. "
        "A call is retried until its own timeout. Keep this well below [conductor] lease, which a conductor holds "
        "while it casts.",
    ),
    cfg.FloatOpt(
        "reconnect_backoff",
        default=0.1,
        min=0.01,
        help="Seconds before the first retry when Redis is unreachable; each further pause is twice as long.",
    ),
    cfg.FloatOpt(
        "reconnect_backoff_max",
        default=2.0,
        min=0.01,
        help="Maximum seconds between attempts to reach Redis.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the group. Idempotent."""
    # By name: copies of one OptGroup share registered and overridden options across all configurations.
    conf.register_opts(OPTS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTS)]
