# SPDX-License-Identifier: Apache-2.0
"""Running gantt on one machine: the servers it needs, a whole cluster, and a workload for it."""
