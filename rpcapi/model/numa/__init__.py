# SPDX-License-Identifier: Apache-2.0
"""NUMA: cells of hosts, topologies of guests, and whether and how one lies on the other."""
