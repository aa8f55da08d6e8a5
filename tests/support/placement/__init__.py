# SPDX-License-Identifier: Apache-2.0
"""Placement's clients and servers."""
