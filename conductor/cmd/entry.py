# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt-conductor``."""

from rpcapi import entry


def main() -> int:
    """Run ``gantt-conductor``; return its exit code."""
    return entry.run("gantt-conductor", "conductor", "conductor.cmd.conductor:main", needs=["redis"])
