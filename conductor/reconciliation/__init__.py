# SPDX-License-Identifier: Apache-2.0
"""Comparison of records, claims and guests, and repair of lost data."""
