# SPDX-License-Identifier: Apache-2.0
"""Memory that decisions free stays with the process. A decision on 100,000 hosts makes a dozen columns of 800 kB and
drops them. By default glibc returns each to the kernel, and the page faults of the next ones cost as much as the
arithmetic on them.
"""

import ctypes

# <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

LARGEST_KEPT = 32 << 20  # bytes of one column, four million hosts; the greatest threshold that glibc accepts
KEPT = 64 << 20  # bytes that stay with the process at the end of each heap


def keep_freed_memory() -> None:
    """Keep freed memory in this process; without effect unless it runs on glibc. See mallopt(3)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
