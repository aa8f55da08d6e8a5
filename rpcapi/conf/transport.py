# SPDX-License-Identifier: Apache-2.0
"""Where the bus is: oslo.messaging registers this option, we only tell of it in the sample file."""

from oslo_config import cfg

GROUP = "DEFAULT"

OPTS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        sample_default="gantt+redis:///0?socket=/run/gantt/bus.sock",
        help="Where the message bus is; every service and client must name the same one. RabbitMQ, under a user of "
        "the service's own: 'gantt-rabbit://user:password@host:5672/vhost'. The embedded bus, on a redis-server that "
        "serves nothing else: 'gantt+redis://user:password@host:6379/0', or over a Unix socket "
        "'gantt+redis://user:password@/0?socket=/path'.",
    ),
]
