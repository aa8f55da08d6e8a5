# SPDX-License-Identifier: Apache-2.0
"""Columnar copy of all hosts, updated from the logs and read by decisions."""
