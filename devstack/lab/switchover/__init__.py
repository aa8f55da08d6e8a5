# SPDX-License-Identifier: Apache-2.0
"""gantt-lab import: how long a switchover from Placement takes."""
