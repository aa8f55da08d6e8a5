# SPDX-License-Identifier: Apache-2.0
"""CPU time of a process's descendants."""

import os
import subprocess
import sys

from devstack.lab.processor_time import descendant_cpu_seconds

BUSY = "import time; [None for _ in iter(lambda: time.process_time() < 0.3, False)]; print(flush=True); input()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def test_counts_all_descendants_but_not_the_process_itself():
    # Given an idle child whose own child used 0.3 s of CPU time and is idle now
    child = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    own_seconds = descendant_cpu_seconds(os.getpid())
    child_seconds = descendant_cpu_seconds(child.pid)
    child.communicate(b"\n", timeout=30)
    # Then its time counts for both of its ancestors
    assert 0.25 < child_seconds <= own_seconds
    assert descendant_cpu_seconds(child.pid) == 0
