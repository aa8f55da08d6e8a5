# SPDX-License-Identifier: Apache-2.0
"""Filters: pure functions from the host table and a request to a mask of the hosts that pass."""
