# SPDX-License-Identifier: Apache-2.0
"""Memory freed by decisions stays with the process.

A decision on 100,000 hosts drops a dozen columns of 800 kB; glibc would return each to the kernel, and the page faults
of the next cost as much as the arithmetic.
"""

import ctypes

# <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

LARGEST_KEPT = 32 << 20  # bytes, a column of four million hosts; glibc's greatest threshold
KEPT = 64 << 20  # bytes kept at the end of each heap


def keep_freed_memory() -> None:
    """Keep freed memory in this process; without effect unless it runs on glibc. See mallopt(3)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
