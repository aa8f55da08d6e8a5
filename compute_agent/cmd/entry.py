# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt-compute``."""

from rpcapi import entry


def main() -> int:
    """Run ``gantt-compute``; return its exit code."""
    return entry.run("gantt-compute", "compute", "compute_agent.cmd.compute:main")
