# SPDX-License-Identifier: Apache-2.0
"""Development clusters of gantt on one machine: servers, daemons and a workload."""
