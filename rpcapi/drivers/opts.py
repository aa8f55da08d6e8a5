# SPDX-License-Identifier: Apache-2.0
"""Options of the embedded bus, group `[gantt_bus]`."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    "gantt_bus",
    title="Embedded bus",
    help="How RPC travels over a Redis server of its own, when transport_url begins with gantt+redis.",
)

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "visibility_timeout",
        default=10,
        min=1,
        help="Seconds after which a message is given to another server when the one that received it died "
        "before it acknowledged it. A living server keeps renewing what it still holds, so a low value costs "
        "nothing but a write per third of it.",
    ),
    cfg.IntOpt(
        "prefetch",
        default=8,
        min=1,
        help="Messages that one RPC server may hold received but not yet begun. A higher value feeds a busy "
        "server better; a lower one shares the work more evenly and leaves less to be redelivered when it dies.",
    ),
    cfg.IntOpt(
        "request_ttl",
        default=3600,
        min=1,
        help="Seconds that a request without a timeout of its own (a cast) waits for a server before it is "
        "dropped, and that a queue without any server is kept after the last message that was sent to it.",
    ),
    cfg.IntOpt(
        "reply_ttl",
        default=60,
        min=3,
        help="Seconds that replies and fanned-out messages are kept for a process that stopped reading. "
        "After it they are deleted, and so nothing stays behind of a client or server that died.",
    ),
    cfg.IntOpt(
        "max_message_bytes",
        default=16 * 1024 * 1024,
        min=1024,
        help="Bytes of the largest message, as JSON. A larger request raises an error where it is sent, "
        "a larger reply raises one at the caller.",
    ),
    cfg.IntOpt(
        "max_connections",
        default=16,
        min=2,
        help="Connections to Redis that one process opens at most for sending; senders beyond wait for a "
        "free one. Receiving takes one more, however many RPC servers the process runs.",
    ),
    cfg.FloatOpt(
        "socket_timeout",
        default=5.0,
        min=0.1,
        help="Seconds that one command to Redis may take before the connection is given up and made anew.",
    ),
    cfg.FloatOpt(
        "send_timeout",
        default=10.0,
        min=0,
        help="Seconds that a cast or a reply is tried again while Redis is away, before it fails. "
        "A call is tried until its own timeout. Keep it well below [conductor] lease, which a conductor holds while it "
        "casts.",
    ),
    cfg.FloatOpt(
        "reconnect_backoff",
        default=0.1,
        min=0.01,
        help="Seconds before the first new attempt when Redis is away; each further pause is twice as long.",
    ),
    cfg.FloatOpt(
        "reconnect_backoff_max",
        default=2.0,
        min=0.01,
        help="Seconds that the pause between attempts to reach Redis never exceeds.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the group on this configuration; a second call changes nothing."""
    # By name: copies of one OptGroup share what is registered and overridden, and so would all configurations.
    conf.register_opts(OPTS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """What the sample configuration shows of this bus."""
    return [(GROUP, OPTS)]
