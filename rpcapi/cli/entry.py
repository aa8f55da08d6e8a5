# SPDX-License-Identifier: Apache-2.0
"""The console scripts ``gantt`` and ``gantt-status``."""

import os
import sys

from rpcapi import entry


def main() -> int:
    """Run ``gantt``; return its exit code."""
    # oslo.messaging imports eventlet, whose resolver takes a fifth of a command's time, and no command uses it.
    os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
    return entry.run("gantt", "shell", "rpcapi.cli.main:main")


def status() -> int:
    """Run ``gantt-status``; return its exit code."""
    return entry.run("gantt-status", "status", "rpcapi.cli.status:main", needs=["oslo_upgradecheck"])


if __name__ == "__main__":
    sys.exit(main())
