# SPDX-License-Identifier: Apache-2.0
"""lab.sh replay: one request trace through several drivers, for comparison."""
