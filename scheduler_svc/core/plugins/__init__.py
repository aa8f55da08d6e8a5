# SPDX-License-Identifier: Apache-2.0
"""External filters and weighers: loaded from entry points, isolated on failure, and timed."""
