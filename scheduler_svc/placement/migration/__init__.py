# SPDX-License-Identifier: Apache-2.0
"""Migration between OpenStack's Placement and gantt: complete copies in both directions."""
