# SPDX-License-Identifier: Apache-2.0
"""Faults of a cluster's processes, servers, connections and messages: one function per kind."""
