# SPDX-License-Identifier: Apache-2.0
"""lab.sh nova: gantt as Nova's scheduler and Placement, compared with the originals."""
