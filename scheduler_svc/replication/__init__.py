# SPDX-License-Identifier: Apache-2.0
"""In-memory replicas of partitions, updated from the partitions' logs."""
