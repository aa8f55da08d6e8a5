# SPDX-License-Identifier: Apache-2.0
"""Regression: the first call to a service group took 5 s, so that a member's session expired while it joined.

The call's thread imported tooz, with it eventlet, whose copy of the threading module took that thread's end marker:
joining the thread waited for the whole time limit although it had ended.
"""

import subprocess
import sys

SCRIPT = """
import sys
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator

assert "tooz.coordination" not in sys.modules
Coordinator(CoordinationGroup("redis://127.0.0.1:1", "g", 6.0), "a")
assert "tooz.coordination" in sys.modules
"""


def test_thread_of_the_first_call_imports_no_library() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], check=True, timeout=60)
