# SPDX-License-Identifier: Apache-2.0
"""Decides what nova-scheduler decides, claims nothing, and compares."""
