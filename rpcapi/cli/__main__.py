# SPDX-License-Identifier: Apache-2.0
"""Starts the command ``gantt``: help and completion from files, other commands with few imports."""

import gc
import sys

from rpcapi.cli import delayed_imports, static_output


def main() -> int:
    """Run ``gantt``; return its exit code."""
    output = static_output.find(sys.argv[1:])
    if output is not None:
        sys.stdout.write(output)
        return 0
    delayed_imports.install()
    gc.set_threshold(50_000)  # a tenth of a command's time would go into looking for garbage among imported modules
    from rpcapi.cli import main as command  # noqa: PLC0415 - after the imports are delayed

    return command.main()


if __name__ == "__main__":
    sys.exit(main())
