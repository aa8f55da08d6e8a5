# SPDX-License-Identifier: Apache-2.0
"""Drivers rank hosts for a request; they are loaded from entry point group ``gantt.drivers``."""
