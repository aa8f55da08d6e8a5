# SPDX-License-Identifier: Apache-2.0
"""Bridge from Nova's databases to the store: compute nodes, services, cells and aggregates."""
