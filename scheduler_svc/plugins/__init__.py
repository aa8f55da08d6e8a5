# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers from outside: found by entry point, kept from harming a decision, measured."""
