# SPDX-License-Identifier: Apache-2.0
"""Weighers: pure functions from a view and a request to a number per host."""
