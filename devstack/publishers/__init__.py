# SPDX-License-Identifier: Apache-2.0
"""Simulated storage and network services: what they tell the scheduler of pools, networks and who reaches them."""
