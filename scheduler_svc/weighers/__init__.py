# SPDX-License-Identifier: Apache-2.0
"""Weighers: each a pure function from the host table and a request to a figure for each host."""
