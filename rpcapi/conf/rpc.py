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
        help="Seconds that a caller waits for an answer, unless its request has an earlier deadline. A message lost "
        "with a killed service is sent again after this time.",
    ),
    cfg.FloatOpt(
        "call_monitor_timeout",
        default=10.0,
        min=0.1,
        help="Seconds without a heartbeat from the service after which a caller gives up a long call. Without effect "
        "if below 2, or not below the call's timeout.",
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
        help="Maximum instances in one request, of which all are placed or none. A larger request is refused and must "
        "be split.",
    ),
    cfg.IntOpt(
        "max_queue_length",
        default=20_000,
        min=100,
        help="Maximum messages waiting in one queue of the message bus; senders of further messages get Overloaded. "
        "Use at least twice the number of hosts. With RabbitMQ, use the same value for all services; to change it, "
        "stop the services and delete the queues.",
    ),
    cfg.IntOpt(
        "max_message_bytes",
        default=MAX_MESSAGE_BYTES,
        min=1024,
        help="Maximum bytes of one bus message, request or answer, as JSON. For a larger message the caller gets "
        "RequestTooLarge or AnswerTooLarge. A larger message that arrives becomes a dead letter; decoding it could "
        "take 25 times its size in memory. Use the same value for all services, and for RabbitMQ's max_message_size "
        "or proto-max-bulk-len of the embedded bus.",
    ),
    cfg.ListOpt(
        "shared_agent_hosts",
        default=[],
        sample_default=["compute[0-9]"],
        help="Service hosts that broker user 'compute' may act for; ranges as in [compute] hosts. Only for "
        "laboratories that simulate many hosts in one process; elsewhere each host has its own user "
        "'gantt-compute.HOST'. Use the same value for schedulers and conductors.",
    ),
]
