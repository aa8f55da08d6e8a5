# SPDX-License-Identifier: Apache-2.0
"""Weighers: pure functions from the host table and a request to a number per host."""
