# SPDX-License-Identifier: Apache-2.0
"""Clusters of real processes, the commands and the oracles that examine them."""
