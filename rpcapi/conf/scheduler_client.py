# SPDX-License-Identifier: Apache-2.0
"""Option for the scheduler backend of clients."""

from oslo_config import cfg

GROUP = "scheduler_client"

OPTS = [
    cfg.StrOpt(
        "backend",
        default="bus",
        help="Entry point in 'gantt.scheduler_backends' that answers scheduler calls. 'bus' is gantt's own scheduler "
        "over the message bus; a deployer can install another scheduler behind the same calls.",
    )
]
