# SPDX-License-Identifier: Apache-2.0
"""The host table: columns of all hosts, kept fresh by log entries, read by decisions."""
