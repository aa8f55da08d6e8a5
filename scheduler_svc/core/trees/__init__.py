# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates of ranked hosts: exact searches of provider trees, on demand."""
