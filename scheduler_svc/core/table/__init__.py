# SPDX-License-Identifier: Apache-2.0
"""Host table: columnar copy of all hosts, updated from the logs and read by decisions."""
