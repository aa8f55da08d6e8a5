# SPDX-License-Identifier: Apache-2.0
"""Run pytest on green threads: `python -m tests.contract.green_pytest ARGUMENTS`."""

import sys

from rpcapi.messaging import green

if __name__ == "__main__":
    green.patch()
    import pytest

    sys.exit(pytest.main(sys.argv[1:]))
