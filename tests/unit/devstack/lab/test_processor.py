# SPDX-License-Identifier: Apache-2.0
"""Whose processor time is counted: what a process began, down to the last."""

import os
import subprocess
import sys

from devstack.lab.processor import descendant_cpu_seconds

BUSY = "import time; [None for _ in iter(lambda: time.process_time() < 0.3, False)]; print(flush=True); input()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def test_counts_children_of_children_and_not_itself():
    # Given a child that idles, whose own child worked for 0.3 s and idles now
    child = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    spent = descendant_cpu_seconds(os.getpid())
    below = descendant_cpu_seconds(child.pid)
    child.communicate(b"\n", timeout=30)
    # Then its work counts for both above it
    assert 0.25 < below <= spent
    assert descendant_cpu_seconds(child.pid) == 0
