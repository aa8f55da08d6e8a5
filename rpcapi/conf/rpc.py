# SPDX-License-Identifier: Apache-2.0
"""Options of group [rpc]: timeouts, partition and request limits."""

from oslo_config import cfg

from rpcapi.resources.claims import MAX_INSTANCES

GROUP = "rpc"
# Default max_message_size of RabbitMQ 4; earlier releases allow 128 MiB.
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
PARTITION = r"^[a-z0-9][a-z0-9_-]{0,62}$"

OPTS = [
    cfg.FloatOpt(
        "call_timeout",
        default=30.0,
        min=0.1,
        help="Seconds a caller waits for an answer when its request has no earlier deadline. When a message is lost "
        "with a killed service, its sender retries after this time.",
    ),
    cfg.FloatOpt(
        "call_monitor_timeout",
        default=10.0,
        min=0.1,
        help="Seconds without a heartbeat of the service after which a waiting caller gives up a long call. Below 2, "
        "or not below the timeout of the call, it has no effect: no heartbeats are requested.",
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
        max=MAX_INSTANCES,
        help="Maximum number of instances in one request, which are all placed or none; a larger request is refused "
        "and must be split.",
    ),
    cfg.IntOpt(
        "max_queue_length",
        default=20_000,
        min=100,
        help="Messages that may wait in one queue of the message bus; further ones fail at their sender with "
        "Overloaded. At least twice the number of hosts. On RabbitMQ the same for all services, and a change needs the "
        "queues to be deleted while the services are stopped.",
    ),
    cfg.IntOpt(
        "max_message_bytes",
        default=MAX_MESSAGE_BYTES,
        min=1024,
        help="Maximum size in bytes of one message of the bus, a request or an answer, as JSON. A larger one is not "
        "sent: the sender of a request gets RequestTooLarge, the caller of a service AnswerTooLarge. A larger one that "
        "arrives is not decoded, which may take 25 times its size of memory, but becomes a dead letter. Use the same "
        "value for all services, and for RabbitMQ's max_message_size or proto-max-bulk-len of the embedded bus.",
    ),
    cfg.ListOpt(
        "shared_agent_hosts",
        default=[],
        sample_default=["compute[0-9]"],
        help="Service hosts for which the broker's user 'compute' may speak; ranges as in [compute] hosts. For a "
        "laboratory that simulates many hosts in one process; empty elsewhere, where each host has a user of its own, "
        "'gantt-compute.HOST'. The same for schedulers and conductors.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group=GROUP)
