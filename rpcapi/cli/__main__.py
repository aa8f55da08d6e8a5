# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``python -m rpcapi.cli``, the command ``gantt``."""

import sys

from rpcapi.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
