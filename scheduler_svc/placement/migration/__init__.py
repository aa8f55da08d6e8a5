# SPDX-License-Identifier: Apache-2.0
"""Switching between OpenStack Placement and gantt: copies of all that one has in the other."""
