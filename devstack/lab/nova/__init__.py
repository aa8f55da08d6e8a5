# SPDX-License-Identifier: Apache-2.0
"""gantt-lab nova: gantt in the place of nova-scheduler and Placement, beside both of them."""
