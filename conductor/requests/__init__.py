# SPDX-License-Identifier: Apache-2.0
"""Requests of callers to change instances: each is checked, then recorded for the saga."""
