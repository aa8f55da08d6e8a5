# SPDX-License-Identifier: Apache-2.0
"""Real Nova on gantt-placement: after each case, allocations are those that Nova's records say."""
