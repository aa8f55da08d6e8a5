# SPDX-License-Identifier: Apache-2.0
"""Filters: each a pure function from the host table and a request to the hosts that may take it."""
