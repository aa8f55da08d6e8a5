# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates for ranked hosts: provider trees are searched exactly, and only on demand."""
