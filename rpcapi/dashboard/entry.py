# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt-dashboard``."""

from rpcapi import entry


def main() -> int:
    """Run ``gantt-dashboard``; return its exit code."""
    return entry.run(
        "gantt-dashboard",
        "dashboard",
        "rpcapi.dashboard.daemon:main",
        needs=["cheroot", "cliff", "jinja2", "keystoneauth1", "webob"],
    )
