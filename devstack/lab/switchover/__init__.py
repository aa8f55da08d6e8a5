# SPDX-License-Identifier: Apache-2.0
"""lab.sh import: how long a switchover from Placement takes."""
