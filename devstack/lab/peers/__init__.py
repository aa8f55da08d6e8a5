# SPDX-License-Identifier: Apache-2.0
"""gantt-lab peers: the same work by what gantt was once part of, each peer in an environment of its own."""
