# SPDX-License-Identifier: Apache-2.0
"""NUMA: host cells, guest topologies, and guest cells on host cells."""
