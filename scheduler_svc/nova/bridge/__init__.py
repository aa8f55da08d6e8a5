# SPDX-License-Identifier: Apache-2.0
"""Bridge that copies compute nodes, services, cells and aggregates from Nova's databases into the store."""
