# SPDX-License-Identifier: Apache-2.0
"""Simulated storage and network services that publish pools, networks and the hosts that reach them."""
