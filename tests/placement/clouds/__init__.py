# SPDX-License-Identifier: Apache-2.0
"""The providers and allocations that files of Placement's suite expect before their first test, by topic."""
