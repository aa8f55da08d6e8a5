# SPDX-License-Identifier: Apache-2.0
"""Exact, on-demand search of ranked hosts' provider trees for allocation candidates."""
