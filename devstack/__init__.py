# SPDX-License-Identifier: Apache-2.0
"""Running gantt on one machine: the servers it needs, the cluster, and what exercises it."""
