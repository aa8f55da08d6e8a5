# SPDX-License-Identifier: Apache-2.0
"""Replication: in-memory copies of partitions, updated from their logs."""
