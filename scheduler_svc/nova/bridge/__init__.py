# SPDX-License-Identifier: Apache-2.0
"""Copies the state of compute nodes, services, cells and aggregates from Nova's databases into the store."""
