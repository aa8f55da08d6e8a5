# SPDX-License-Identifier: Apache-2.0
"""Entry point of the benchmarks, called by ``lab.sh`` in the environment that it prepares."""

import sys

from devstack.lab.main import main

if __name__ == "__main__":
    sys.exit(main())
