# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt-scheduler``."""

from rpcapi import entry


def main() -> int:
    """Run ``gantt-scheduler``; return its exit code."""
    return entry.run(
        "gantt-scheduler", "scheduler", "scheduler_svc.cmd.scheduler:main", needs=["numpy", "redis", "jsonschema"]
    )
