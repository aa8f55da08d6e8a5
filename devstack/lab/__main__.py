# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark; ``lab.sh`` makes the environment and calls this."""

import sys

from devstack.lab.main import main

if __name__ == "__main__":
    sys.exit(main())
