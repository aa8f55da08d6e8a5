# SPDX-License-Identifier: Apache-2.0
"""Drivers: how hosts are ranked for a request; found under the entry point group ``gantt.drivers``."""
