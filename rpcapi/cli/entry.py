# SPDX-License-Identifier: Apache-2.0
"""The console scripts ``gantt`` and ``gantt-status``."""

import gc
import sys

from rpcapi import entry
from rpcapi.cli import delayed_imports, static_output


def main() -> int:
    """Run ``gantt``; return its exit code."""
    output = static_output.find(sys.argv[1:])
    if output is not None:
        sys.stdout.write(output)
        return 0
    delayed_imports.install()
    gc.set_threshold(50_000)  # a tenth of a command's time would go into looking for garbage among imported modules
    return entry.run("gantt", "shell", "rpcapi.cli.main:main")


def status() -> int:
    """Run ``gantt-status``; return its exit code."""
    return entry.run("gantt-status", "status", "rpcapi.cli.status:main", needs=["oslo_upgradecheck"])


if __name__ == "__main__":
    sys.exit(main())
