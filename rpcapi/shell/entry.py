# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt``: as far as it comes where only the library is installed."""

import sys


def main() -> int:
    """Run the command and return its exit code; 1, with a line, where its packages are not installed."""
    try:
        from rpcapi.shell.main import main as run  # noqa: PLC0415 - what this is about
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "rpcapi":
            raise
        print(f"gantt: {error.name} is not installed; run: pip install 'gantt[shell]'", file=sys.stderr)
        return 1
    return run()


if __name__ == "__main__":
    sys.exit(main())
