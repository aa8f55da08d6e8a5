# SPDX-License-Identifier: Apache-2.0
"""The host table: a columnar copy of all hosts, updated from the logs and read by decisions."""
