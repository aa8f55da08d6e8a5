# SPDX-License-Identifier: Apache-2.0
"""lab.sh nova: gantt in the place of nova-scheduler and Placement, beside both of them."""
