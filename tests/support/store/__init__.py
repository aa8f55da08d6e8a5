# SPDX-License-Identifier: Apache-2.0
"""Partitions on each back end, and failures of their stores."""
