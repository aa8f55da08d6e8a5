# SPDX-License-Identifier: Apache-2.0
"""Allocations for ranked hosts: what each tree can give, found exactly and no sooner than it is wanted."""
