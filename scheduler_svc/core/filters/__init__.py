# SPDX-License-Identifier: Apache-2.0
"""Filters: pure functions from a view and a request to masks of the hosts that pass."""
