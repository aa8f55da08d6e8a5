# SPDX-License-Identifier: Apache-2.0
"""Columnar copy of all hosts, which logs update and decisions read."""
