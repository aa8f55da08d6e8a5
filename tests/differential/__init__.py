# SPDX-License-Identifier: Apache-2.0
"""Comparisons with Nova and OpenStack Placement, which run in separate environments."""
